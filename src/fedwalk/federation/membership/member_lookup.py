"""Asking the server for the present members of the federation, during a walk phase.

A walk phase can take hours, and Flower delivers no further question to a holder while it answers one. So the process
that walks polls the server's list of members: when the operator has removed a holder, its tokens are refused within
seconds.
"""

import http.client
import ssl

from fedwalk.federation.membership.folders import HolderFolder
from fedwalk.util.checked_json import parse_json

MEMBERS = "/fedwalk/members"
"""The path on the server's public port that lists the members."""
TIMEOUT = 5.0
"""Seconds to wait for the server."""
MAX_BYTES = 4 << 20
"""Largest list of names that is read: about 100,000 holders, with names of up to 40 characters."""


def client_context(folder: HolderFolder) -> ssl.SSLContext:
    """TLS that trusts only the federation's authority and presents the certificate of this folder's holder."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    # The system's authorities aren't loaded, so no public authority can vouch for another server.
    context.load_verify_locations(folder.authority)
    context.load_cert_chain(folder.certificate, folder.key)
    return context


def look_up_members(folder: HolderFolder, server: str) -> set[str] | None:
    """The names of all members; None if the server can't be reached. A holder then keeps the members that it knows."""
    host, _, port = server.rpartition(":")
    try:
        # The context is made each time, because a new pass may have replaced the files.
        connection = http.client.HTTPSConnection(
            host.strip("[]"), int(port), timeout=TIMEOUT, context=client_context(folder)
        )
        try:
            connection.request("GET", MEMBERS)
            answer = connection.getresponse()
            # One byte more than allowed is read, so that `parse_json` refuses an answer that is too large.
            names = parse_json(answer.read(MAX_BYTES + 1), MAX_BYTES) if answer.status == 200 else None
        finally:
            connection.close()
    except (OSError, ValueError, http.client.HTTPException):
        return None
    return set(names) if isinstance(names, list) and all(isinstance(name, str) for name in names) else None
