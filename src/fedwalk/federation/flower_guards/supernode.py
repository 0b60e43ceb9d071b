"""`python -m fedwalk.federation.flower_guards.supernode FOLDER DIGEST …`: Flower's SuperNode, guarded.

A SuperNode runs whatever app the SuperLink ships, with all rights of its user: a curious server needs no attack, it
sends code that reads the neighbour lists. Here an app is refused unless it is the one of DIGEST, before it is stored.
The SuperNode shows the server the holder's certificate, and its own API on this machine needs the folder's secret.

Four more things are changed. A SuperNode that was killed counts as alive until its heartbeats are missed, and until
then its successor is refused and gives up: here it tries again. Heartbeats come every ten seconds, so that a dead
holder is missed after twenty, not sixty. The next question of a run is looked for sooner. And an error of the
connection on which Flower gives up, leaving an idle process, doesn't end the asking.
"""

import math
import sys
import time
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from fedwalk.errors import ProtocolError
from fedwalk.federation.descriptors import raise_descriptor_limit
from fedwalk.federation.flower_guards.fleet_client import CONNECTION, guard_fleet_client
from fedwalk.federation.flower_guards.hooks import check_app, replace
from fedwalk.federation.flower_guards.listening import LimitedServer, server_context, uvicorn_config
from fedwalk.federation.flower_guards.local_requests import LOCAL_LIMITS, LocalRequests
from fedwalk.federation.flower_guards.local_secret import read_secret
from fedwalk.federation.flower_guards.task_processes import start_superexec_by_module
from fedwalk.federation.folders import HolderFolder
from fedwalk.federation.notices import say

HEARTBEAT = 10.0
"""Seconds; Flower allows no fewer."""
LOOK = 0.5
RUN_IS_ON = 60.0
"""Seconds after an answer in which another question is likely."""


def main() -> None:
    """Guard, then be `flower-supernode`."""
    raise_descriptor_limit()
    folder, digest = HolderFolder(Path(sys.argv.pop(1))), sys.argv.pop(1)
    module = import_module("flwr.supernode.cli.flower_supernode")
    start_superexec_by_module(import_module("flwr.supernode.start_client_internal"))
    guard_local_api(module, read_secret())
    guard_fleet_client(folder)
    run_only(digest)
    look_often()
    hurry_heartbeats()
    module.flower_supernode()


def guard_local_api(module: Any, secret: str) -> None:
    """In place of uvicorn: the SuperNode's own API at a port where every request carries the secret."""

    def config(app: Any, host: str, port: int, ssl_certfile: str, ssl_keyfile: str, **_: Any) -> Any:
        context = server_context(ssl_certfile, ssl_keyfile)
        return LimitedServer(uvicorn_config(LocalRequests(app, secret), host, port), context, LOCAL_LIMITS)

    # Flower makes a server of the configuration; here that is one already.
    replace(module, "uvicorn", SimpleNamespace(Config=config, Server=lambda made: made))


def run_only(digest: str) -> None:
    """Check each app before it is stored; a refusal ends nothing but the message.

    An error of the connection doesn't end anything either, such as a router that answers while the server is away:
    Flower would never ask again, and leave the process idle.
    """
    import httpx
    from flwr.supernode import start_client_internal

    def checked(content: bytes, run: Any) -> Any:
        check_app(content, digest, "the server")
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


def hurry_heartbeats() -> None:
    """Shorter than Flower's half a minute."""
    from flwr.supercore import heartbeat
    from flwr.supernode import fleet_http_connection

    for module in (heartbeat, fleet_http_connection):
        replace(module, "HEARTBEAT_DEFAULT_INTERVAL", HEARTBEAT)


if __name__ == "__main__":
    main()
