"""`python -m fedwalk.federation.guarded_supernode DIGEST …`: Flower's SuperNode, running one app and no other.

A SuperNode runs whatever app the SuperLink ships, with all rights of its user: a curious server needs no attack, it
sends code that reads the lists. Here an app is refused unless it is the one of DIGEST, before it is stored.

Four more things are mended on the way. A SuperNode that was killed is taken for alive until its heartbeats are
missed, and until then its successor is turned away and gives up: here it tries again. Heartbeats come every ten
seconds, so that a dead holder is missed after twenty, not sixty. The next question of a run is looked for sooner. And
an error of the connection on which Flower gives up, with the process left there for nothing, is no end of the asking.
The owner is told whether there is a server, and whether it lets the holder in.
"""

import hashlib
import json
import math
import sys
import time
from typing import Any

from fedwalk.errors import ProtocolError
from fedwalk.federation.notices import Changes, say

HEARTBEAT = 10.0
"""Seconds; Flower allows no fewer."""
CONNECTION = Changes()
"""Tells the owner how it stands with the server."""
CONNECTED = "connected to the server"
PAUSE = 2.0
WHY_NOT_YET = "It may not know yet that an earlier process has ended (20 s), or that the holder is admitted."
LOOK = 0.5
RUN_IS_ON = 60.0
"""Seconds after an answer in which another question is likely."""


def main() -> None:
    """Guard, then be `flower-supernode`."""
    from flwr.supernode.cli import flower_supernode

    digest = sys.argv.pop(1)
    run_only(digest)
    look_often()
    activate_patiently()
    tell_of_silence()
    hurry_heartbeats()
    flower_supernode()


def run_only(digest: str) -> None:
    """Put the check where every app passes before it is stored; a refusal ends nothing but the message.

    Neither does an error of the connection, such as a router that answers while the server is away: Flower would stop
    asking for ever, and leave the process there.
    """
    import httpx
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
        except httpx.HTTPError as error:
            CONNECTION.say(f"the server can't be asked, trying again: {error}")
            return None

    read_config = replace(start_client_internal, "get_fused_config_from_fab", checked)
    pull = replace(start_client_internal, "_pull_and_store_message", surviving)


def look_often() -> None:
    """While a run is on, look for its next question twice a second; Flower would rest three seconds between looks."""
    from flwr.supernode import start_client_internal

    busy, last = False, -math.inf

    def looking(**everything: Any) -> Any:
        nonlocal busy, last
        last = time.monotonic() if busy else last
        while (found := pull(**everything)) is None and time.monotonic() < last + RUN_IS_ON:
            time.sleep(LOOK)
        busy = found is not None
        return found

    pull = replace(start_client_internal, "_pull_and_store_message", looking)


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
                entry = activate(client, request)
                CONNECTION.say(CONNECTED)
                return entry
            except httpx.HTTPStatusError as error:
                why = reason(error.response.text)
                CONNECTION.say(f"the server doesn't let this holder in yet: {why}. {WHY_NOT_YET}")
                time.sleep(PAUSE)
            except httpx.TransportError as error:
                # Flower's own patience goes on from here.
                CONNECTION.say(f"the server can't be reached yet: {error}")
                raise

    replace(FleetHttpClient, "ActivateNode", knocking)


def reason(body: str) -> str:
    """Flower's word for a refusal, as far as it has one."""
    try:
        return str(json.loads(body)["detail"]).strip(" .")[:300]
    except (ValueError, KeyError, TypeError):
        return body[:300]


def tell_of_silence() -> None:
    """Let the owner know when the server stops answering, when it is back, and when it knows the holder no more."""
    import httpx
    from flwr.supernode.fleet_http_client import FleetHttpClient

    def telling(call: Any) -> Any:
        def told(client: FleetHttpClient, request: Any) -> Any:
            try:
                answer = call(client, request)
            except httpx.TransportError:
                CONNECTION.say("the server doesn't answer any more; waiting for it")
                raise
            except httpx.HTTPStatusError as error:
                if error.response.status_code == httpx.codes.UNAUTHORIZED:
                    CONNECTION.say("the server knows this holder no more: it was removed. Its operator can admit it")
                raise
            CONNECTION.say(CONNECTED)
            return answer

        return told

    for name in ("SendNodeHeartbeat", "PullMessages"):
        replace(FleetHttpClient, name, telling(getattr(FleetHttpClient, name)))


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


if __name__ == "__main__":
    main()
