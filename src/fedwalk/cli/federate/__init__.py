"""`fedwalk federate …`: a real federation, from keys to a run."""

import argparse
import importlib.util
from pathlib import Path

from fedwalk.errors import SettingsError

EPILOG = """\
try it, all on this machine, in a minute:
  fedwalk federate demo --holders 4

for real (docs/federation.md has every step, with names, ports and firewalls):
  operator   fedwalk federate init fed --address server.example.org:9092
  holder     fedwalk federate enrol mine --name clinic --lists lists.adj
             (for protocol paper add --allow paper --address clinic.example.org:7443)
             and send mine/request.json to the operator; read its fingerprint out by phone
  operator   fedwalk federate admit fed request.json --fingerprint "3f2a 90c1 …"
             and send fed/passes/clinic.json back
  operator   fedwalk federate server fed                       stays until Ctrl-C
  holder     fedwalk federate holder mine --pass clinic.json   stays until Ctrl-C
  operator   fedwalk federate run fed -o run --protocol ldp --epsilon 6
"""


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Enter the command and its own commands."""
    from fedwalk.cli.federate import demo, enrolment, running, service

    parser = commands.add_parser(
        "federate",
        help="run over real devices: a server, holders on machines of their own, Flower between them",
        description="A federation: an operator runs the server, each holder keeps the neighbour lists of its devices "
        "on its own machine. Needs the extra: pip install 'fedwalk[flower]'.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    inner = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for module in (demo, enrolment, service, running):
        module.add_parsers(inner)


def need_flower() -> None:
    """Say what to install if Flower isn't."""
    for module in ("flwr", "grpc", "cryptography", "psutil"):
        if importlib.util.find_spec(module) is None:
            raise SettingsError(f"fedwalk federate needs {module}, which isn't here: pip install 'fedwalk[flower]'")


def folder_argument(parser: argparse.ArgumentParser, name: str, text: str) -> None:
    """A folder by position."""
    parser.add_argument(name, type=Path, metavar=name.upper(), help=text)
