"""`python -m fedwalk.federation.flower_guards.superlink FOLDER …`: Flower's SuperLink behind two guarded ports.

Flower serves all its APIs on one port. Here holders get a public port with the Fleet API alone, for which they need a
certificate of the federation; the Control and Runtime APIs are on a port of the loopback interface, and every request
to them carries the folder's secret. The one app that can be started is fedwalk's own.
"""

import asyncio
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from fedwalk.errors import ProtocolError
from fedwalk.federation.app_folder import app_digest
from fedwalk.federation.connection_limits import ConnectionLimits
from fedwalk.federation.descriptors import raise_descriptor_limit
from fedwalk.federation.flower_guards.hooks import check_app, replace
from fedwalk.federation.flower_guards.listening import LimitedServer, server_context, uvicorn_config
from fedwalk.federation.flower_guards.local_requests import LOCAL_LIMITS, LocalRequests
from fedwalk.federation.flower_guards.local_secret import read_secret
from fedwalk.federation.flower_guards.request_limits import RequestLimits
from fedwalk.federation.flower_guards.task_processes import start_superexec_by_module
from fedwalk.federation.folders import FederationFolder
from fedwalk.federation.members import Members

EVERY, START = 1.0, 0.05
"""Seconds between two notes about connections that were refused, and between two looks whether Flower has started."""


def main() -> None:
    """Guard, then be `flower-superlink`."""
    raise_descriptor_limit()
    folder = FederationFolder(Path(sys.argv.pop(1)))
    module = import_module("flwr.superlink.cli.flower_superlink")
    start_only(app_digest(folder.app))
    start_superexec_by_module(module)
    replace(module, "uvicorn", SimpleNamespace(run=lambda **options: serve(folder, **options)))
    module.flower_superlink()


def start_only(digest: str) -> None:
    """Check the app where every run is started."""
    from fastapi import HTTPException
    from flwr.superlink.servicer.control import control_handlers

    def checked(request: Any, *rest: Any, **options: Any) -> Any:
        try:
            check_app(request.fab.content, digest, "the request to start a run")
        except ProtocolError as error:
            raise HTTPException(403, str(error)) from None
        return start(request, *rest, **options)

    start = replace(control_handlers, "start_run", checked)


def serve(
    folder: FederationFolder, app: Any, host: str, port: int, ssl_certfile: str, ssl_keyfile: str, **rest: Any
) -> None:
    """In place of `uvicorn.run`: Flower's app at two ports, each with its own rules."""
    settings = folder.settings()
    limits = RequestLimits(app, Members(folder.members), settings.largest_answer, folder.refusals)
    public_host, _, public_port = settings.listen.rpartition(":")
    public = LimitedServer(
        uvicorn_config(limits, public_host.strip("[]"), int(public_port), lifespan="off"),
        server_context(ssl_certfile, ssl_keyfile, str(folder.path / "authority.pem")),
        ConnectionLimits(),
        (folder.path / "authority.pem").read_bytes(),
    )

    def new_run() -> None:
        public.failed.clear()
        public.limits.dropped.clear()
        limits.new_run()

    local = LimitedServer(
        uvicorn_config(LocalRequests(app, read_secret(), new_run), host, port),
        server_context(ssl_certfile, ssl_keyfile),
        LOCAL_LIMITS,
    )
    asyncio.run(_serve_both(local, public, limits))


async def _serve_both(local: LimitedServer, public: LimitedServer, limits: RequestLimits) -> None:
    """Until the local one is asked to end, or the public one can't listen."""
    noting = asyncio.create_task(_note_strangers(public, limits))
    at_public = asyncio.create_task(_serve_when(local, public))
    at_public.add_done_callback(lambda _: setattr(local, "should_exit", True))
    try:
        await local.serve()
    finally:
        noting.cancel()
        public.should_exit = True
        await at_public


async def _serve_when(local: LimitedServer, public: LimitedServer) -> None:
    """Let holders in when the server's own processes can work: who finds the public port open finds both."""
    while not local.started and not public.should_exit:
        await asyncio.sleep(START)
    if not public.should_exit:
        await public.serve_quietly()


async def _note_strangers(public: LimitedServer, limits: RequestLimits) -> None:
    """Add connections that never became a request to what was refused."""
    while True:
        await asyncio.sleep(EVERY)
        strangers = public.failed + public.limits.dropped
        if strangers != limits.strangers:
            limits.strangers = strangers
            limits.note()


if __name__ == "__main__":
    main()
