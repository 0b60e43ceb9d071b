"""`admit`: admit a holder, or renew its certificate."""

import argparse
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fedwalk.cli.arguments import Commands
from fedwalk.cli.federate import DAYS, add_command, days_argument, folder_argument
from fedwalk.errors import InputError
from fedwalk.util.text import counted

if TYPE_CHECKING:
    from fedwalk.federation.membership.requests import Request


def add_parsers(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands, "admit", _admit,
        summary="operator: admit a holder, or renew its certificate",
        description="Reads a holder's request, assigns ids to its devices, and writes its pass. First have the holder "
        "read the request's fingerprint to you by phone: otherwise an attacker who replaces the file in transit is "
        "admitted in the holder's place. Without --fingerprint the command asks for it.",
    )  # fmt: skip
    folder_argument(parser, "federation", "folder that `init` made")
    parser.add_argument("request", type=Path, metavar="REQUEST", help="the holder's request.json")
    days_argument(parser, "the pass", DAYS)
    parser.add_argument(
        "--fingerprint", metavar="F",
        help="the fingerprint that the holder read to you; spaces and case don't matter (default: ask for it)",
    )  # fmt: skip
    parser.add_argument(
        "--new-keys", action="store_true",
        help="admit new keys of a known holder that has lost its old key, which therefore hasn't signed the request",
    )  # fmt: skip


def _admit(options: argparse.Namespace) -> int:
    from fedwalk.federation.deploy.registration import register_holders
    from fedwalk.federation.deploy.services import is_running
    from fedwalk.federation.membership.admission import admit_holder
    from fedwalk.federation.membership.folders import FederationFolder
    from fedwalk.federation.membership.keys import authority_fingerprint, certificate_end
    from fedwalk.federation.membership.passes import read_pass
    from fedwalk.federation.membership.requests import load_request, request_fingerprint

    folder = FederationFolder(options.federation)
    folder.settings()
    request = load_request(options.request)
    _check_fingerprint(options, request)
    path = admit_holder(folder, request, options.days, new_keys=options.new_keys)
    # From the pass, because no certificate is valid for longer than the authority's.
    end = certificate_end(read_pass(path).certificate.encode())
    devices = counted(len(request.devices), "device", "devices")
    print(f"Admitted {request.name} with {devices}, until {end:%Y-%m-%d}.")
    print(f"Fingerprint of the request:   {request_fingerprint(request)}")
    print(f"Fingerprint of the authority: {authority_fingerprint(folder.credentials().authority)}")
    print(f"Next:    send {path} to the holder, who compares the authority's fingerprint", flush=True)
    if is_running(folder.state):
        register_holders(folder)
    return 0


def _check_fingerprint(options: argparse.Namespace, request: "Request") -> None:
    """Refuse a request unless its fingerprint is the one that the holder read out.

    The fingerprint is never shown before the operator has given it: an operator who sees it might just copy it.
    """
    from fedwalk.federation.membership.requests import request_fingerprint

    given = options.fingerprint
    if given is None:
        if not sys.stdin.isatty():
            raise InputError(
                f"{options.request}: its fingerprint must be compared, and there is no terminal to ask for it. Have "
                'the holder read it to you, then add --fingerprint "…".'
            )
        address = request.address or "none: ldp only"
        print(f"{options.request}: {request.name}, {counted(len(request.devices), 'device', 'devices')}, {address}")
        with suppress(EOFError):
            given = input("The fingerprint that the holder read to you: ")
    if "".join((given or "").split()).lower() != request_fingerprint(request).replace(" ", ""):
        raise InputError(
            f"{options.request}: has another fingerprint than the one given. A digit is wrong, or this isn't the "
            "holder's request. `fedwalk federate enrol FOLDER` shows the holder its fingerprint."
        )
