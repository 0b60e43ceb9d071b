"""`holder`: take part in a federation until Ctrl-C."""

import argparse
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from fedwalk.cli.arguments import Commands
from fedwalk.cli.federate import add_command, folder_argument, show_end
from fedwalk.errors import SettingsError

if TYPE_CHECKING:
    from fedwalk.federation.membership.folders import HolderFolder


def add_parsers(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands, "holder", _holder,
        summary="holder: take part until Ctrl-C",
        description="Runs Flower's SuperNode. It answers only what its owner has agreed to (holder.toml), and runs no "
        "code that the server sends, except fedwalk's own. It may be started before the server and waits for it.",
    )  # fmt: skip
    folder_argument(parser, "holder", "folder that `enrol` made")
    parser.add_argument(
        "--pass", dest="pass_file", type=Path, metavar="FILE", help="the operator's pass; needed once for each new pass"
    )
    parser.add_argument(
        "--older-pass", action="store_true", help="take the pass even if it is older than the one this holder has"
    )


def _holder(options: argparse.Namespace) -> int:
    from fedwalk.federation.deploy.services import running_holder, wait_until_stopped
    from fedwalk.federation.membership.folders import HolderFolder
    from fedwalk.federation.membership.passes import waiting_keys
    from fedwalk.federation.owner_log import OwnerLogReader

    folder = HolderFolder(options.holder)
    settings = folder.settings()
    if options.older_pass and not options.pass_file:
        raise SettingsError("--older-pass requires --pass FILE.")
    if options.pass_file:
        _take_pass(folder, options.pass_file, older=options.older_pass)
    if waiting_keys(folder):
        print("The new keys come into use with the operator's next pass.")
        print("As soon as the operator admits them, the server refuses the old ones.")
    # Made before the holder starts, so that no line of its log is missed.
    owner_log = OwnerLogReader(folder.log)
    with running_holder(folder) as started:
        reached = f"other holders reach it at {settings.address}" if settings.address else "no address, so ldp only"

        def announce() -> None:
            print(f"Holder {settings.name} is running; {reached}. Its log: {folder.log}")
            print("Ctrl-C stops it.", flush=True)

        def print_new_lines() -> None:
            _print_with_time(owner_log.new_lines())

        code = wait_until_stopped(started, folder.log, print_new_lines, on_start=announce)
    return show_end(code, folder.log)


def _take_pass(folder: "HolderFolder", file: Path, *, older: bool) -> None:
    from fedwalk.federation.deploy.services import check_stopped
    from fedwalk.federation.membership.keys import authority_fingerprint
    from fedwalk.federation.membership.passes import take_pass, waiting_keys

    check_stopped(folder.state)
    waiting = waiting_keys(folder)
    taken = take_pass(folder, file, older=older)
    if waiting and not waiting_keys(folder):
        print("The new keys are in use from now on, and the old ones are deleted.")
    print(f"The authority's fingerprint, to be compared by phone: {authority_fingerprint(taken.authority.encode())}")


def _print_with_time(lines: list[str]) -> None:
    # The terminal may have been closed; the holder keeps running.
    with suppress(OSError):
        for line in lines:
            print(f"{datetime.now():%H:%M:%S} {line}", flush=True)
