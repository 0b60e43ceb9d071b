"""`server`: run a federation's server until Ctrl-C."""

import argparse

from fedwalk.cli.arguments import Commands
from fedwalk.cli.federate import add_command, folder_argument, show_end
from fedwalk.util.text import counted


def add_parsers(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands, "server", _server,
        summary="operator: run the server until Ctrl-C",
        description="Runs Flower's SuperLink with TLS, and registers every admitted holder. The server knows the "
        "vertices' ids and what holders answer: in ldp noisy reports, in paper matrices that reveal every edge.",
    )  # fmt: skip
    folder_argument(parser, "federation", "folder that `init` made")


def _server(options: argparse.Namespace) -> int:
    from fedwalk.federation.deploy.services import running_server, wait_until_stopped
    from fedwalk.federation.membership.folders import FederationFolder
    from fedwalk.federation.membership.roster import Roster

    folder = FederationFolder(options.federation)
    settings = folder.settings()
    with running_server(folder) as started:
        holders = [holder for holder in Roster.load(folder.roster).holders if not holder.removed]
        expected = counted(len(holders), "holder", "holders")

        def announce() -> None:
            print(f"The server listens on {settings.listen}; {expected} may connect. Its log: {folder.log}")
            print("Ctrl-C stops it.")
            print(f"Next:    fedwalk federate run {folder.path} -o run --epsilon 6", flush=True)

        code = wait_until_stopped(started, folder.log, on_start=announce)
    return show_end(code, folder.log)
