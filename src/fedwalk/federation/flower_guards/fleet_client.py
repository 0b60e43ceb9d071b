"""The SuperNode's connection to its server: it shows the holder's certificate and tells the owner about problems.

The server's certificate is checked against the federation's authority. If either certificate has expired, or this
machine's clock is wrong, the owner is told, and the SuperNode keeps trying: a new certificate or a corrected clock
takes effect at the next attempt.
"""

import json
import ssl
import time
from contextlib import suppress
from email.utils import parsedate_to_datetime
from typing import Any

from fedwalk.federation.flower_guards.hooks import FLEET_CLIENT, install
from fedwalk.federation.membership.folders import HolderFolder
from fedwalk.federation.membership.member_lookup import client_context
from fedwalk.federation.owner_log import ChangeLogger

CONNECTION, CLOCK = ChangeLogger(), ChangeLogger()
"""Messages to the owner about the connection and about this machine's clock. Neither logs the same line twice in
a row."""
CONNECTED = "connected to the server"
LOGGED_CALLS = ("SendNodeHeartbeat", "PullMessages", "PushMessages", "PushObject", "PullObject")
"""Calls whose success or failure shows whether the server answers. Together they are made every few seconds."""
RETRY_SECONDS = 2.0
ACTIVATION_HINT = (
    "It may not have noticed yet that an earlier process has ended (20 s), or that the holder is admitted."
)
MAX_CLOCK_DIFFERENCE = 60.0
"""Seconds. Flower accepts signatures that are up to a few minutes old, so the warning comes before the failure."""
TLS_PROBLEMS = {
    "certificate expired": "the server says that this holder's certificate has expired",
    "certificate required": "the server requires a client certificate, and this holder sent none",
    "unknown ca": "the server doesn't know the authority of this holder's certificate",
    "certificate has expired": "the server's certificate has expired by this machine's clock",
    "certificate is not yet valid": "the server's certificate isn't valid yet by this machine's clock",
    "certificate verify failed": "the server's certificate isn't one of this federation",
}
"""What OpenSSL's messages mean here. The first match counts, so the general "verify failed" comes last."""
TLS_ADVICE = (
    "Check this machine's clock, then ask the operator: a new pass (admit) or a new server certificate (renew)."
)


def guard_fleet_client(folder: HolderFolder) -> None:
    """Install every guard of this module."""
    show_certificate(folder)
    drop_expired_connections()
    retry_activation()
    log_connection()
    # Last: it wraps the `_send` of drop_expired_connections, and so sees only answers that were not refused.
    compare_clocks()


def show_certificate(folder: HolderFolder) -> None:
    """Connect to the server with TLS 1.3 and the holder's certificate."""

    def from_server_address(
        cls: Any, /, address: str, insecure: bool, roots: Any, interceptors: Any, **more: Any
    ) -> Any:
        # Flower's own TLS settings are ignored: with `insecure` it would not check the server at all.
        return cls(f"https://{address}", interceptors=interceptors, verify=client_context(folder), **more)

    install(f"{FLEET_CLIENT}.from_server_address", classmethod(from_server_address))


def drop_expired_connections() -> None:
    """Close a connection whose server certificate has expired, and refuse the answer that came over it.

    TLS checks the certificate only when a connection begins, and Flower's polling keeps one open for weeks.
    """
    import httpx

    def send_checked(client: Any, *arguments: Any, **options: Any) -> Any:
        answer = send(client, *arguments, **options)
        stream = answer.extensions.get("network_stream")
        tls = stream and stream.get_extra_info("ssl_object")
        if tls and ssl.cert_time_to_seconds(tls.getpeercert()["notAfter"]) < time.time():
            # The next request opens a new connection, whose handshake checks the certificate.
            stream.close()
            raise httpx.ReadError("certificate has expired")
        return answer

    send = install(f"{FLEET_CLIENT}._send", send_checked)


def retry_activation() -> None:
    """Try until the server accepts the holder: it may not have noticed yet that an earlier process has ended."""
    import httpx

    def activate_until_accepted(client: Any, request: Any) -> Any:
        while True:
            try:
                response = activate(client, request)
                CONNECTION.log(CONNECTED)
                return response
            except httpx.HTTPStatusError as error:
                reason = refusal_reason(error.response.text)
                CONNECTION.log(f"the server hasn't accepted this holder yet: {reason}. {ACTIVATION_HINT}")
            except httpx.TransportError as error:
                CONNECTION.log(f"the server can't be reached yet: {explain(error)}")
                if explain(error) == str(error):
                    # Not about certificates: Flower has its own retries for a server that doesn't answer.
                    raise
            time.sleep(RETRY_SECONDS)

    activate = install(f"{FLEET_CLIENT}.ActivateNode", activate_until_accepted)


def log_connection() -> None:
    """Tell the owner when the server stops answering, when it refuses a call, and when it answers again."""
    for name in LOGGED_CALLS:
        # In a function of its own: a closure made in this loop would always call the last target.
        _log_call(f"{FLEET_CLIENT}.{name}")


def _log_call(target: str) -> None:
    import httpx

    def call_and_log(client: Any, request: Any) -> Any:
        try:
            answer = call(client, request)
        except httpx.TransportError as error:
            CONNECTION.log(f"the server doesn't answer any more, trying again: {explain(error)}")
            raise
        except httpx.HTTPStatusError as error:
            status, reason = error.response.status_code, refusal_reason(error.response.text)
            CONNECTION.log(f"the server refuses (HTTP {status}): {reason}. Trying again; ask its operator why")
            raise
        CONNECTION.log(CONNECTED)
        return answer

    call = install(target, call_and_log)


def compare_clocks() -> None:
    """Compare this machine's clock with the date in each of the server's answers."""

    def send_and_compare(client: Any, *arguments: Any, **options: Any) -> Any:
        answer = send(client, *arguments, **options)
        if warning := clock_warning(answer.headers.get("date", ""), time.time()):
            CLOCK.log(warning)
        return answer

    send = install(f"{FLEET_CLIENT}._send", send_and_compare)


def clock_warning(date: str, now: float) -> str | None:
    """A warning about this machine's clock, given the server's date; None if they agree.

    Examples
    --------
    >>> clock_warning("Thu, 01 Jan 1970 00:10:00 GMT", 4200.0)
    "this machine's clock is 3,600 s ahead of the server's; set the one that is wrong"
    """
    # The date comes from the server, and Python's parser has all of these for malformed ones.
    with suppress(ArithmeticError, LookupError, TypeError, ValueError):
        ahead = now - parsedate_to_datetime(date).timestamp()
        if abs(ahead) > MAX_CLOCK_DIFFERENCE:
            where = "ahead of" if ahead > 0 else "behind"
            return f"this machine's clock is {abs(ahead):,.0f} s {where} the server's; set the one that is wrong"
    return None


def explain(error: Exception) -> str:
    """What a failed connection means, if it is about certificates; otherwise the error's own text.

    Examples
    --------
    >>> explain(OSError("[SSL: SSLV3_ALERT_CERTIFICATE_EXPIRED] ssl/tls alert certificate expired (_ssl.c:2580)"))[:46]
    "the server says that this holder's certificate"
    """
    # OpenSSL names an alert like CERTIFICATE_EXPIRED or in plain words.
    text = str(error).lower().replace("_", " ")
    problem = next((problem for sign, problem in TLS_PROBLEMS.items() if sign in text), None)
    return f"{problem}. {TLS_ADVICE}" if problem else str(error)


def refusal_reason(body: str) -> str:
    """The reason that the server gives for a refusal: Flower's as JSON, fedwalk's own as text."""
    try:
        return str(json.loads(body)["detail"]).strip(" .")[:300]
    # The body can be anything: a proxy in front of the server may have written it.
    except (ValueError, KeyError, TypeError, RecursionError):
        return body[:300].strip()
