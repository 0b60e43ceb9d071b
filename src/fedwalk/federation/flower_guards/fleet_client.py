"""How a SuperNode speaks to its server: with the holder's certificate, and telling the owner what goes on.

The server's certificate is checked against the federation's authority, the holder's own is shown to the server. Where
either has ended, or this machine's clock is wrong, the owner is told so, and the SuperNode goes on trying: a new
certificate or a clock that is set right is found at the next attempt.
"""

import json
import ssl
import time
from contextlib import suppress
from email.utils import parsedate_to_datetime
from typing import Any

from fedwalk.federation.flower_guards.hooks import replace
from fedwalk.federation.folders import HolderFolder
from fedwalk.federation.member_lookup import client_context
from fedwalk.federation.notices import Changes

CONNECTION, CLOCK = Changes(), Changes()
"""Tell the owner how it stands with the server, and with this machine's clock."""
CONNECTED = "connected to the server"
TOLD = ("SendNodeHeartbeat", "PullMessages", "PushMessages", "PushObject", "PullObject")
"""The calls by which the owner learns how it stands."""
PAUSE = 2.0
"""Seconds between two attempts to be let in."""
WHY_NOT_YET = "It may not know yet that an earlier process has ended (20 s), or that the holder is admitted."
MAX_DRIFT = 60.0
"""Seconds between two clocks that are worth a word: Flower accepts signatures up to a few minutes old."""
ALERTS = {
    "certificate expired": "the server says that this holder's certificate has ended",
    "certificate required": "the server wants a certificate, and this holder has shown none",
    "unknown ca": "the server doesn't know the authority of this holder's certificate",
    "certificate has expired": "the server's certificate has ended by this machine's clock",
    "certificate is not yet valid": "the server's certificate isn't valid yet by this machine's clock",
    "certificate verify failed": "the server's certificate isn't one of this federation",
}
ADVICE = "Check this machine's clock, then ask the operator: a new pass (admit) or a new server certificate (renew)."


def guard_fleet_client(folder: HolderFolder) -> None:
    """Put all of it in place."""
    show_certificate(folder)
    leave_ended_server()
    activate_patiently()
    tell_of_silence()
    watch_clock()


def show_certificate(folder: HolderFolder) -> None:
    """Connect to the server with TLS 1.3, showing the holder's certificate."""
    from flwr.supernode.fleet_http_client import FleetHttpClient

    def connecting(cls: Any, /, address: str, insecure: bool, roots: Any, interceptors: Any, **options: Any) -> Any:
        return cls(f"https://{address}", interceptors=interceptors, verify=client_context(folder.path), **options)

    replace(FleetHttpClient, "from_server_address", classmethod(connecting))


def leave_ended_server() -> None:
    """Refuse an answer over a connection that has outlived the server's certificate, and hang up.

    TLS looks at the certificate only when a connection begins, and Flower's polling keeps one open for weeks.
    """
    import httpx
    from flwr.supernode.fleet_http_client import FleetHttpClient

    def sending(client: Any, *arguments: Any, **options: Any) -> Any:
        answer = send(client, *arguments, **options)
        stream = answer.extensions.get("network_stream")
        tls = stream and stream.get_extra_info("ssl_object")
        if tls and ssl.cert_time_to_seconds(tls.getpeercert()["notAfter"]) < time.time():
            stream.close()
            raise httpx.ReadError("certificate has expired")
        return answer

    send = replace(FleetHttpClient, "_send", sending)


def activate_patiently() -> None:
    """Try until the server lets the holder in: it may not know yet that an earlier process has ended."""
    import httpx
    from flwr.supernode.fleet_http_client import FleetHttpClient

    activate = FleetHttpClient.ActivateNode

    def trying(client: FleetHttpClient, request: Any) -> Any:
        while True:
            try:
                entry = activate(client, request)
                CONNECTION.say(CONNECTED)
                return entry
            except httpx.HTTPStatusError as error:
                why = reason(error.response.text)
                CONNECTION.say(f"the server doesn't let this holder in yet: {why}. {WHY_NOT_YET}")
            except httpx.TransportError as error:
                CONNECTION.say(f"the server can't be reached yet: {in_words(error)}")
                if in_words(error) == str(error):
                    # No question of certificates: Flower's own patience goes on from here.
                    raise
            time.sleep(PAUSE)

    replace(FleetHttpClient, "ActivateNode", trying)


def tell_of_silence() -> None:
    """Tell the owner when the server stops answering, when it refuses, and when it is back."""
    import httpx
    from flwr.supernode.fleet_http_client import FleetHttpClient

    def telling(call: Any) -> Any:
        def told(client: FleetHttpClient, request: Any) -> Any:
            try:
                answer = call(client, request)
            except httpx.TransportError as error:
                CONNECTION.say(f"the server doesn't answer any more, trying again: {in_words(error)}")
                raise
            except httpx.HTTPStatusError as error:
                status, why = error.response.status_code, reason(error.response.text)
                CONNECTION.say(f"the server refuses (HTTP {status}): {why}. Trying again; its operator can tell why")
                raise
            CONNECTION.say(CONNECTED)
            return answer

        return told

    for name in TOLD:
        replace(FleetHttpClient, name, telling(getattr(FleetHttpClient, name)))


def watch_clock() -> None:
    """Compare this machine's clock with the server's, which stands in each of its answers."""
    from flwr.supernode.fleet_http_client import FleetHttpClient

    def sending(client: Any, *arguments: Any, **options: Any) -> Any:
        answer = send(client, *arguments, **options)
        if said := drift(answer.headers.get("date", ""), time.time()):
            CLOCK.say(said)
        return answer

    send = replace(FleetHttpClient, "_send", sending)


def drift(date: str, now: float) -> str | None:
    """What is to be said about this machine's clock, given the server's date; nothing if they agree.

    Examples
    --------
    >>> drift("Thu, 01 Jan 1970 00:10:00 GMT", 4200.0)
    "this machine's clock is 3,600 s ahead of the server's; set the one that is wrong"
    """
    # What Python's parser makes of a date that the server made up.
    with suppress(ArithmeticError, LookupError, TypeError, ValueError):
        ahead = now - parsedate_to_datetime(date).timestamp()
        if abs(ahead) > MAX_DRIFT:
            where = "ahead of" if ahead > 0 else "behind"
            return f"this machine's clock is {abs(ahead):,.0f} s {where} the server's; set the one that is wrong"
    return None


def in_words(error: Exception) -> str:
    """What a failed connection means, if it is about certificates; else the error's own words.

    Examples
    --------
    >>> in_words(OSError("[SSL: SSLV3_ALERT_CERTIFICATE_EXPIRED] ssl/tls alert certificate expired (_ssl.c:2580)"))[:46]
    "the server says that this holder's certificate"
    """
    text = str(error).lower().replace("_", " ")
    found = next((meaning for sign, meaning in ALERTS.items() if sign in text), None)
    return f"{found}. {ADVICE}" if found else str(error)


def reason(body: str) -> str:
    """The server's word for a refusal, as far as it has one."""
    try:
        return str(json.loads(body)["detail"]).strip(" .")[:300]
    except (ValueError, KeyError, TypeError, RecursionError):
        return body[:300].strip()
