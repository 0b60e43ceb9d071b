"""`init`: create a federation."""

import argparse

from fedwalk.cli.arguments import Commands
from fedwalk.cli.federate import DAYS, add_command, days_argument, folder_argument


def add_parsers(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands, "init", _init,
        summary="operator: create a federation",
        description="Makes the certificate authority, the server's certificate, an empty roster and the Flower app. "
        "Keep the folder private: with authority.key, anyone can admit holders.",
    )  # fmt: skip
    folder_argument(parser, "federation", "folder to create")
    parser.add_argument("--address", required=True, metavar="HOST:PORT", help="where holders reach the server")
    parser.add_argument(
        "--listen", metavar="HOST:PORT", help="what the server listens on (default 0.0.0.0 and that port)"
    )
    parser.add_argument("--name", default="fedwalk", help="the federation's name (default fedwalk)")
    days_argument(parser, "the server's certificate", DAYS)
    parser.add_argument(
        "--max-answer", type=int, default=256, metavar="MB",
        help="maximum amount that one holder may send in a run (default 256 MB)",
    )  # fmt: skip


def _init(options: argparse.Namespace) -> int:
    from fedwalk.federation.membership.admission import create_federation
    from fedwalk.federation.membership.folders import FederationSettings
    from fedwalk.federation.membership.keys import authority_fingerprint
    from fedwalk.federation.names import all_interfaces

    listen = options.listen or all_interfaces(options.address)
    settings = FederationSettings(options.name, options.address, listen, options.max_answer << 20)
    folder = create_federation(options.federation, settings, options.days)
    print(
        f"Created the federation {folder.path}. Holders reach its server at {options.address}; it listens on {listen}."
    )
    print(f"Fingerprint of its authority: {authority_fingerprint(folder.authority.read_bytes())}")
    print(f"Keep {folder.authority_key} secret: with it, anyone can admit holders.")
    print(
        "Next:    each holder runs `fedwalk federate enrol`, sends you its request.json and reads out its fingerprint;"
    )
    print(f'         fedwalk federate admit {folder.path} request.json --fingerprint "…"')
    return 0
