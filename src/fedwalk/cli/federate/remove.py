"""`remove`: remove a holder."""

import argparse

from fedwalk.cli.arguments import Commands
from fedwalk.cli.federate import add_command, folder_argument


def add_parsers(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands, "remove", _remove,
        summary="operator: remove a holder",
        description="Removes a holder. The server refuses it at once, and the other holders within seconds, also "
        "during a run. Its vertices keep their ids.",
    )  # fmt: skip
    folder_argument(parser, "federation", "folder that `init` made")
    parser.add_argument("name", metavar="NAME", help="the holder's name")


def _remove(options: argparse.Namespace) -> int:
    from fedwalk.federation.deploy.registration import register_holders
    from fedwalk.federation.deploy.services import is_running
    from fedwalk.federation.membership.admission import remove_holder
    from fedwalk.federation.membership.folders import FederationFolder

    folder = FederationFolder(options.federation)
    folder.settings()
    remove_holder(folder, options.name)
    print(f"Removed {options.name}: the server and the other holders refuse it from now on.", flush=True)
    if is_running(folder.state):
        register_holders(folder)
    return 0
