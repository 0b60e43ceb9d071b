"""`down`: stop a server or a holder."""

import argparse

from fedwalk.cli.arguments import Commands
from fedwalk.cli.federate import add_command, either_folder_argument
from fedwalk.util.text import counted


def add_parsers(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands, "down", _down,
        summary="stop the server or holder of a folder",
        description="Ends the server or the holder of this folder with every process that it started, also if the "
        "command that started them was killed.",
    )  # fmt: skip
    either_folder_argument(parser)


def _down(options: argparse.Namespace) -> int:
    from fedwalk.federation.deploy.services import stop_service

    num_ended = stop_service(options.folder)
    count = counted(num_ended, "process", "processes")
    print(f"Ended {count} of {options.folder}." if num_ended else f"{options.folder}: nothing was running.")
    return 0
