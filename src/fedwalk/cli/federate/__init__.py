"""`fedwalk federate …`: a real federation, from keys to a run."""

import argparse
import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fedwalk.cli import arguments
from fedwalk.cli.arguments import Commands, LazyParser
from fedwalk.errors import SettingsError
from fedwalk.util.extras import install_hint

Call = Callable[[argparse.Namespace], int]

DAYS = 365
"""Default validity of a certificate."""

EPILOG = """\
try it on this machine, in a minute:
  fedwalk federate demo --holders 4

between machines (docs/federation.md has every step, with names, ports and firewalls):
  operator   fedwalk federate init fed --address server.example.org:9092
  holder     fedwalk federate enrol mine --name clinic --neighbours neighbours.adj
             (for protocol paper add --allow paper --address clinic.example.org:7443)
             and send mine/request.json to the operator; read its fingerprint out by phone
  operator   fedwalk federate admit fed request.json --fingerprint "3f2a 90c1 …"
             and send fed/passes/clinic.json back
  operator   fedwalk federate server fed                       runs until Ctrl-C
  holder     fedwalk federate holder mine --pass clinic.json   runs until Ctrl-C
  operator   fedwalk federate run fed -o run --protocol ldp --epsilon 6
"""


def add_parser(commands: Commands) -> None:
    """Add `federate` with all its commands."""
    from fedwalk.cli.federate import admit, demo, down, enrol, holder, init, remove, renew, run, server, status

    parser = arguments.add_command(
        commands,
        "federate",
        None,
        summary="run over real devices: a server, holders on their own machines, Flower between them",
        description="A federation: an operator runs the server, and each holder keeps the neighbour lists of its "
        "devices on its own machine. Needs Flower, which the extra `flower` installs.",
        epilog=EPILOG,
    )
    inner = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for module in (demo, init, renew, enrol, admit, remove, server, holder, run, status, down):
        module.add_parsers(inner)


def add_command(
    commands: Commands, name: str, call: Call, *, summary: str, description: str, epilog: str | None = None
) -> LazyParser:
    """Add one command, which checks that Flower is installed before it is called."""

    def check_and_call(options: argparse.Namespace) -> int:
        need_flower()
        return call(options)

    return arguments.add_command(
        commands, name, check_and_call, summary=summary, description=description, epilog=epilog
    )


def need_flower() -> None:
    """Raise SettingsError with the command to install if Flower, or a package beside it, is missing."""
    for module in ("flwr", "grpc", "cryptography", "psutil"):
        if importlib.util.find_spec(module) is None:
            raise SettingsError(f"fedwalk federate needs {module}, which isn't installed: {install_hint('flower')}")


def folder_argument(parser: argparse.ArgumentParser, name: str, text: str) -> None:
    """Add a positional argument that is a folder."""
    parser.add_argument(name, type=Path, metavar=name.upper(), help=text)


def either_folder_argument(parser: argparse.ArgumentParser) -> None:
    """Add a positional argument for the folder of a federation or a holder."""
    folder_argument(parser, "folder", "of a federation or a holder")


def json_argument(parser: argparse.ArgumentParser, text: str) -> None:
    """Add --json."""
    parser.add_argument("--json", action="store_true", help=text)


def patience_argument(parser: argparse.ArgumentParser, default: float) -> None:
    """Add --patience."""
    parser.add_argument(
        "--patience", type=float, default=default, metavar="S",
        help=f"seconds to wait for a silent holder before going on without it (default {default:g})",
    )  # fmt: skip


def days_argument(parser: argparse.ArgumentParser, what: str, default: int | None) -> None:
    """Add --days, the validity of a certificate or pass."""
    parser.add_argument(
        "--days", type=int, default=default, metavar="N", help=f"validity of {what} in days (default {DAYS})"
    )


def show_end(code: int, log: Path) -> int:
    """Say how a server or holder ended; returns the command's exit code."""
    from fedwalk.federation.deploy.services import log_tail

    print("Stopped; no process is left." if code == 0 else f"Ended unexpectedly with code {code}: {log_tail(log)}")
    return 0 if code == 0 else 2


def print_json(value: dict[str, Any]) -> int:
    """Print a value for programs; returns the exit code of a command that went well."""
    print(json.dumps(value, indent=2, ensure_ascii=False))
    return 0
