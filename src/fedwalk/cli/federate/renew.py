"""`renew`: new certificates for a federation, new keys for a holder."""

import argparse

from fedwalk.cli.arguments import Commands
from fedwalk.cli.federate import DAYS, add_command, days_argument, either_folder_argument
from fedwalk.errors import SettingsError

OVERLAP = 30
"""Default number of days for which a former authority is still trusted."""


def add_parsers(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands, "renew", _renew,
        summary="renew certificates or keys of a federation or a holder",
        description="For a federation's folder: gives the server a new key and certificate by the same authority. "
        "Holders need nothing new unless the address changes; then each needs a new pass. With --authority the "
        "authority itself is replaced, and each holder needs a new pass before the overlap ends. For a holder's "
        "folder: makes new keys and a request that the old key signs, for the operator to admit. The holder uses its "
        "old keys until it gets the new pass.",
    )  # fmt: skip
    either_folder_argument(parser)
    parser.add_argument("--address", metavar="HOST:PORT", help="new address at which holders reach the server")
    # Without a default, because the option is refused for a holder.
    days_argument(parser, "the server's certificate", None)
    parser.add_argument("--authority", action="store_true", help="replace the authority")
    parser.add_argument(
        "--overlap", type=int, metavar="DAYS",
        help=f"days for which the old authority is still trusted; 0 if its key was stolen (default {OVERLAP})",
    )  # fmt: skip


def _renew(options: argparse.Namespace) -> int:
    from fedwalk.federation.deploy.status import is_federation

    if not is_federation(options.folder):
        return _renew_keys(options)
    if options.overlap is not None and not options.authority:
        raise SettingsError("--overlap can only be used with --authority.")
    if options.authority and options.address:
        raise SettingsError("--authority and --address can't be combined. Run `renew` twice, first with --address.")
    return _renew_authority(options) if options.authority else _renew_server(options)


def _renew_server(options: argparse.Namespace) -> int:
    from fedwalk.federation.membership.admission import renew_server
    from fedwalk.federation.membership.folders import FederationFolder
    from fedwalk.federation.membership.keys import certificate_end

    folder = FederationFolder(options.folder)
    before = folder.settings()
    now = renew_server(folder, DAYS if options.days is None else options.days, options.address)
    end = certificate_end(folder.credentials().certificate)
    print(f"The server has a new certificate, for {now.address}, until {end:%Y-%m-%d}; it listens on {now.listen}.")
    print(f"Next:    restart it: fedwalk federate down {folder.path}; fedwalk federate server {folder.path}")
    if now.address != before.address:
        print("         then `fedwalk federate admit` every holder's request again: its pass has the old address")
    return 0


def _renew_authority(options: argparse.Namespace) -> int:
    from fedwalk.federation.membership.admission import renew_authority
    from fedwalk.federation.membership.folders import FederationFolder
    from fedwalk.federation.membership.keys import authority_fingerprint
    from fedwalk.federation.membership.validity import date_text

    folder = FederationFolder(options.folder)
    overlap = OVERLAP if options.overlap is None else options.overlap
    until = renew_authority(folder, DAYS if options.days is None else options.days, overlap)
    print(
        f"The federation has a new authority. Its fingerprint: {authority_fingerprint(folder.credentials().authority)}"
    )
    print("The old authority's key is deleted, and the server has a new certificate.")
    if until:
        print(f"The old authority is trusted until {date_text(until)}: each holder needs its new pass by then.")
    else:
        print("The old authority is no longer trusted, so each holder needs a new pass to connect. Its owner has to")
        print("compare the fingerprint by phone and move its authority.pem away before using that pass.")
    print(f"Next:    restart the server: fedwalk federate down {folder.path}; fedwalk federate server {folder.path}")
    print("         `fedwalk federate admit` every holder's request again, and send each its new pass")
    return 0


def _renew_keys(options: argparse.Namespace) -> int:
    from fedwalk.federation.membership.admission import renew_keys
    from fedwalk.federation.membership.folders import HolderFolder
    from fedwalk.federation.membership.requests import request_fingerprint

    folder = HolderFolder(options.folder)
    if options.authority or any(value is not None for value in (options.address, options.days, options.overlap)):
        raise SettingsError(
            f"{folder.path}: is a holder, for which `renew` has no options: it makes new keys. For a new address: "
            f"fedwalk federate enrol {folder.path} --address HOST:PORT"
        )
    request = renew_keys(folder)
    print(f"New keys for {request.name} are in {folder.next_keys}; the old ones stay in use until the pass arrives.")
    print(f"Send {folder.request} to the operator. The old key has signed it, which proves that it is this holder's.")
    print(f"Its fingerprint, to be read out by phone: {request_fingerprint(request)}")
    print("As soon as the operator admits it, the server refuses the old keys.")
    print(f"Next:    fedwalk federate holder {folder.path} --pass FILE   with the pass that the operator returns")
    return 0
