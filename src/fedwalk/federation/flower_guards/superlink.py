"""`python -m fedwalk.federation.flower_guards.superlink FOLDER …`: Flower's SuperLink behind two guarded ports.

Flower serves all its APIs on one port. Here holders get a public port with only the Fleet API, for which they need a
certificate of the federation. The Control and Runtime APIs are on a port of the loopback interface, where every request
carries the folder's secret. fedwalk's own app is the only one that can be started.
"""

import asyncio
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from fedwalk.errors import ProtocolError
from fedwalk.federation.flower_guards.app_bundle import app_digest, check_app
from fedwalk.federation.flower_guards.hooks import SUPERLINK_MAIN, install
from fedwalk.federation.flower_guards.listening import LimitedServer, server_context, uvicorn_config
from fedwalk.federation.flower_guards.local_requests import LOCAL_LIMITS, LocalRequests
from fedwalk.federation.flower_guards.local_secret import read_secret
from fedwalk.federation.flower_guards.request_limits import RequestLimits
from fedwalk.federation.flower_guards.task_processes import start_superexec_by_module
from fedwalk.federation.membership.folders import FederationFolder
from fedwalk.federation.membership.members import Members
from fedwalk.federation.wire.connection_limits import ConnectionLimits
from fedwalk.federation.wire.descriptors import raise_descriptor_limit

COUNT_INTERVAL = 1.0
"""Seconds between two updates of the count of refused connections."""
START_POLL = 0.05
"""Seconds between two checks whether Flower's app has started."""


def main() -> None:
    """Install the guards, then run `flower-superlink`."""
    raise_descriptor_limit()
    # The rest of sys.argv are Flower's own options.
    folder = FederationFolder(Path(sys.argv.pop(1)))
    start_only(app_digest(folder.app))
    start_superexec_by_module(f"{SUPERLINK_MAIN}:subprocess")
    # The substitute has only `run`: if Flower used anything else of uvicorn, it would fail and not bypass the guards.
    install(f"{SUPERLINK_MAIN}:uvicorn", SimpleNamespace(run=lambda **options: serve(folder, **options)))
    from flwr.superlink.cli.flower_superlink import flower_superlink

    flower_superlink()


def start_only(digest: str) -> None:
    """Refuse to start a run of any app but the one with this digest."""
    from fastapi import HTTPException

    def start_checked(request: Any, *rest: Any, **options: Any) -> Any:
        try:
            check_app(request.fab.content, digest, "the request to start a run")
        except ProtocolError as error:
            # FastAPI sends this text to the caller; any other error would be a 500 without a reason.
            raise HTTPException(403, str(error)) from None
        return start(request, *rest, **options)

    start = install("flwr.superlink.servicer.control.control_handlers:start_run", start_checked)


def serve(
    folder: FederationFolder, app: Any, host: str, port: int, ssl_certfile: str, ssl_keyfile: str, **rest: Any
) -> None:
    """Serve Flower's app at two ports, each with its own rules; called in place of `uvicorn.run`."""
    settings = folder.settings()
    limits = RequestLimits(app, Members(folder.members), settings.max_answer, folder.refusals)
    public_host, _, public_port = settings.listen.rpartition(":")
    public = LimitedServer(
        # The app is started once, by the local server.
        uvicorn_config(limits, public_host.strip("[]"), int(public_port), lifespan="off"),
        server_context(ssl_certfile, ssl_keyfile, str(folder.authority)),
        ConnectionLimits(),
        folder.authority.read_bytes(),
    )

    def reset_counts() -> None:
        public.failed.clear()
        public.limits.dropped.clear()
        limits.reset_counts()

    local = LimitedServer(
        uvicorn_config(LocalRequests(app, read_secret(), reset_counts), host, port),
        # Without client certificates: at this port the secret identifies the owner's processes.
        server_context(ssl_certfile, ssl_keyfile),
        LOCAL_LIMITS,
    )
    asyncio.run(_serve_both(local, public, limits))


async def _serve_both(local: LimitedServer, public: LimitedServer, limits: RequestLimits) -> None:
    """Serve until the local server is asked to end, or the public one can't listen."""
    counting = asyncio.create_task(_count_unknown(public, limits))
    at_public = asyncio.create_task(_serve_after(local, public))
    # If the public port can't be opened, the server ends: no holder could reach it.
    at_public.add_done_callback(lambda _: setattr(local, "should_exit", True))
    try:
        await local.serve()
    finally:
        counting.cancel()
        public.should_exit = True
        await at_public


async def _serve_after(local: LimitedServer, public: LimitedServer) -> None:
    """Open the public port after the local one: `await_listening` takes an open public port to mean that both are."""
    while not local.started and not public.should_exit:
        await asyncio.sleep(START_POLL)
    if not public.should_exit:
        await public.serve_without_signals()


async def _count_unknown(public: LimitedServer, limits: RequestLimits) -> None:
    """Add connections that never became a request to the file of refusals."""
    while True:
        await asyncio.sleep(COUNT_INTERVAL)
        unknown = public.failed + public.limits.dropped
        if unknown != limits.unknown:
            limits.unknown = unknown
            limits.save_counts()


if __name__ == "__main__":
    main()
