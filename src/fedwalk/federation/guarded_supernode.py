"""`python -m fedwalk.federation.guarded_supernode DIGEST …`: Flower's SuperNode, running one app and no other.

A SuperNode runs whatever app the SuperLink ships, with all rights of its user: a curious server needs no attack, it
sends code that reads the lists. Here an app is refused unless it is the one of DIGEST, before it is stored.

Two more things are mended on the way. A SuperNode that was killed is taken for alive until its heartbeats are missed,
and until then its successor is turned away and gives up: here it tries again. And heartbeats come every ten seconds,
so that a dead holder is missed after twenty, not sixty.
"""

import hashlib
import sys
import time
from typing import Any

from fedwalk.errors import ProtocolError

HEARTBEAT = 10.0
"""Seconds; Flower allows no fewer."""
PAUSE = 2.0


def main() -> None:
    """Guard, then be `flower-supernode`."""
    from flwr.supernode.cli import flower_supernode

    digest = sys.argv.pop(1)
    run_only(digest)
    activate_patiently()
    hurry_heartbeats()
    flower_supernode()


def run_only(digest: str) -> None:
    """Put the check where every app passes before it is stored; a refusal ends nothing but the message."""
    from flwr.supernode import start_client_internal

    def checked(content: bytes, run: Any) -> Any:
        check_app(content, digest)
        return read_config(content, run)

    def surviving(**everything: Any) -> Any:
        try:
            return pull(**everything)
        except ProtocolError as error:
            say(f"refused: {error}")
            return None

    read_config = replace(start_client_internal, "get_fused_config_from_fab", checked)
    pull = replace(start_client_internal, "_pull_and_store_message", surviving)


def check_app(content: bytes, digest: str) -> None:
    """Refuse an app that isn't ours."""
    found = hashlib.sha256(content).hexdigest()
    if found != digest:
        raise ProtocolError(
            f"the server ships an app ({found[:16]}) that isn't this fedwalk's own ({digest[:16]}): it won't run here. "
            "Server and holders need the same version of fedwalk; if they have it, ask the operator what this is."
        )


def activate_patiently() -> None:
    """Knock until the server lets us in: it may not know yet that our predecessor is dead, or that we are admitted."""
    import httpx
    from flwr.supernode.fleet_http_client import FleetHttpClient

    activate = FleetHttpClient.ActivateNode

    def knocking(client: FleetHttpClient, request: Any) -> Any:
        while True:
            try:
                return activate(client, request)
            except httpx.HTTPStatusError as error:
                say(f"the server doesn't let this holder in yet: {error.response.text[:300]}")
                time.sleep(PAUSE)

    replace(FleetHttpClient, "ActivateNode", knocking)


def hurry_heartbeats() -> None:
    """Shorter than Flower's half a minute."""
    from flwr.supercore import heartbeat
    from flwr.supernode import fleet_http_connection

    for module in (heartbeat, fleet_http_connection):
        replace(module, "HEARTBEAT_DEFAULT_INTERVAL", HEARTBEAT)


def replace(owner: Any, name: str, value: Any) -> Any:
    """Put our own in the place of something of Flower's, and return that.

    Where it is missing Flower has changed, and nothing is started: better no holder than an unguarded one.
    """
    before = getattr(owner, name)
    setattr(owner, name, value)
    return before


def say(text: str) -> None:
    """A line in the holder's log."""
    print(f"fedwalk: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
