"""`python -m fedwalk.federation.flower_guards.supernode FOLDER DIGEST …`: Flower's SuperNode with fedwalk's guards.

A SuperNode runs whatever app the SuperLink ships, with all rights of its user. A server could therefore send
code that reads the neighbour lists. Here an app is refused before it is stored, unless it has the digest DIGEST. The
SuperNode shows the server the holder's certificate, and its own API on this machine needs the folder's secret.

Four more things are changed:
- Flower counts a SuperNode that was killed as online until it misses its heartbeats. Until then the server refuses a
  new process of the same holder, which would exit. Here it tries again.
- Heartbeats are sent every ten seconds, so the server notices after 20 seconds, not 60, that a process has ended.
- The SuperNode polls more often for the next question of a run.
- After some connection errors Flower stops polling and leaves an idle process. Here it keeps polling.
"""

import math
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from fedwalk.errors import ProtocolError
from fedwalk.federation.flower_guards.app_bundle import check_app
from fedwalk.federation.flower_guards.fleet_client import CONNECTION, guard_fleet_client
from fedwalk.federation.flower_guards.hooks import FLEET_CONNECTION, SUPERNODE_LOOP, SUPERNODE_MAIN, install
from fedwalk.federation.flower_guards.listening import LimitedServer, server_context, uvicorn_config
from fedwalk.federation.flower_guards.local_requests import LOCAL_LIMITS, LocalRequests
from fedwalk.federation.flower_guards.local_secret import read_secret
from fedwalk.federation.flower_guards.task_processes import start_superexec_by_module
from fedwalk.federation.membership.folders import HolderFolder
from fedwalk.federation.owner_log import log_for_owner
from fedwalk.federation.wire.descriptors import raise_descriptor_limit

HEARTBEAT = 10.0
"""Seconds between two heartbeats; the least that Flower allows."""
QUESTION_POLL = 0.5
"""Seconds between two polls for a question while a run is probably going on."""
RUN_IS_ON = 60.0
"""Seconds after an answer in which another question is likely."""


def main() -> None:
    """Install the guards, then run `flower-supernode`."""
    raise_descriptor_limit()
    # The rest of sys.argv are Flower's own options.
    folder, digest = HolderFolder(Path(sys.argv.pop(1))), sys.argv.pop(1)
    start_superexec_by_module(f"{SUPERNODE_LOOP}:subprocess")
    guard_local_api(read_secret())
    guard_fleet_client(folder)
    # In this order: poll_often repeats calls whose errors run_only has turned into "no message".
    run_only(digest)
    poll_often()
    shorten_heartbeats()
    from flwr.supernode.cli.flower_supernode import flower_supernode

    flower_supernode()


def guard_local_api(secret: str) -> None:
    """Serve the SuperNode's own API at a port where every request carries the secret."""

    def config(app: Any, host: str, port: int, ssl_certfile: str, ssl_keyfile: str, **_: Any) -> Any:
        context = server_context(ssl_certfile, ssl_keyfile)
        return LimitedServer(uvicorn_config(LocalRequests(app, secret), host, port), context, LOCAL_LIMITS)

    # Flower calls `uvicorn.Server(uvicorn.Config(…))`; our Config already returns a server.
    install(f"{SUPERNODE_MAIN}:uvicorn", SimpleNamespace(Config=config, Server=lambda server: server))


def run_only(digest: str) -> None:
    """Check each app before it is stored, and refuse the message if its app isn't the one with this digest.

    Errors of the connection don't end the process either, for instance when a router answers while the server is away:
    Flower would never ask again, and leave the process idle.
    """
    import httpx

    def read_checked(content: bytes, run: Any) -> Any:
        check_app(content, digest, "the server")
        return read_config(content, run)

    def pull_or_log(**arguments: Any) -> Any:
        try:
            return pull(**arguments)
        except ProtocolError as error:
            log_for_owner(f"refused: {error}")
            return None
        except httpx.HTTPError as error:
            CONNECTION.log(f"the server can't be asked, trying again: {error}")
            return None

    # Flower reads the app's configuration before it stores anything of the message.
    read_config = install(f"{SUPERNODE_LOOP}:get_fused_config_from_fab", read_checked)
    pull = install(f"{SUPERNODE_LOOP}:_pull_and_store_message", pull_or_log)


def poll_often() -> None:
    """Poll for a run's next question twice a second; Flower waits three seconds between two polls."""
    # A holder that hasn't answered yet keeps Flower's slower pace, which spares the server.
    answered, last = False, -math.inf

    def pull_soon(**arguments: Any) -> Any:
        nonlocal answered, last
        # Flower calls again when the last question is answered, so this is when the answer was given.
        last = time.monotonic() if answered else last
        while (run_id := pull(**arguments)) is None and time.monotonic() < last + RUN_IS_ON:
            time.sleep(QUESTION_POLL)
        answered = run_id is not None
        return run_id

    pull = install(f"{SUPERNODE_LOOP}:_pull_and_store_message", pull_soon)


def shorten_heartbeats() -> None:
    """Send a heartbeat every ten seconds, not every thirty."""
    # Both have imported the constant by name, so each has a copy of its own.
    for module in ("flwr.supercore.heartbeat", FLEET_CONNECTION):
        install(f"{module}:HEARTBEAT_DEFAULT_INTERVAL", HEARTBEAT)


if __name__ == "__main__":
    main()
