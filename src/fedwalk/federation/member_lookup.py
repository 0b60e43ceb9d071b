"""Who is a member of the federation now, as a holder that walks asks its server.

A walk phase can take hours, and Flower brings a holder no further question while it answers one. So the process that
walks looks at the server's own list every other second: a holder that the operator has removed is not on it any more,
and its tokens are refused from then on.
"""

import http.client
import ssl
from pathlib import Path

from fedwalk.federation.checked_json import parse_json
from fedwalk.federation.flower_guards.request_limits import MEMBERS

TIMEOUT = 5.0
MAX_BYTES = 4 << 20
"""Of the list of names: 40 characters each, for far more holders than there will be."""


def client_context(folder: Path) -> ssl.SSLContext:
    """TLS that trusts the federation's authority alone and shows the certificate of the holder in this folder."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_verify_locations(folder / "authority.pem")
    context.load_cert_chain(folder / "holder.pem", folder / "holder.key")
    return context


def look_up_members(folder: Path, server: str) -> set[str] | None:
    """The names of all members; None if the server can't be asked, which says nothing about any of them."""
    host, _, port = server.rpartition(":")
    try:
        connection = http.client.HTTPSConnection(
            host.strip("[]"), int(port), timeout=TIMEOUT, context=client_context(folder)
        )
        try:
            connection.request("GET", MEMBERS)
            answer = connection.getresponse()
            names = parse_json(answer.read(MAX_BYTES + 1), MAX_BYTES) if answer.status == 200 else None
        finally:
            connection.close()
    except (OSError, ValueError, http.client.HTTPException):
        return None
    return set(names) if isinstance(names, list) and all(isinstance(name, str) for name in names) else None
