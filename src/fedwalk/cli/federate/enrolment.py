"""`init`, `renew`, `enrol`, `admit`, `remove`: who belongs to a federation."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fedwalk.cli.federate import folder_argument, need_flower
from fedwalk.errors import InputError, SettingsError
from fedwalk.words import counted

if TYPE_CHECKING:
    from fedwalk.federation.folders import HolderSettings

DAYS = 365


def add_parsers(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Enter the five commands."""
    _add_init(commands)
    _add_renew(commands)
    _add_enrol(commands)
    admit = commands.add_parser(
        "admit", help="operator: take a holder in, or renew its certificate",
        description="Reads a holder's request, gives ids to its devices, writes its pass. Compare the fingerprint with "
        "the holder by phone first: whoever could replace the file on its way could take its place.",
    )  # fmt: skip
    folder_argument(admit, "federation", "folder that `init` made")
    admit.add_argument("request", type=Path, metavar="REQUEST", help="request.json of the holder")
    admit.add_argument("--days", type=int, default=DAYS, metavar="N", help=f"validity of its pass (default {DAYS})")
    admit.add_argument("--fingerprint", metavar="F", help="refuse any other request than the one with this fingerprint")
    admit.set_defaults(call=_admit)
    remove = commands.add_parser(
        "remove", help="operator: take a holder out",
        description="From the next run on the holder is asked nothing, and other holders refuse its tokens. Its "
        "vertices keep their ids.",
    )  # fmt: skip
    folder_argument(remove, "federation", "folder that `init` made")
    remove.add_argument("name", metavar="NAME", help="the holder's name")
    remove.set_defaults(call=_remove)


def _add_init(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "init", help="operator: make a federation",
        description="Makes the certificate authority, the server's certificate, an empty roster and the Flower app. "
        "Keep the folder private: whoever has authority.key decides who is a holder.",
    )  # fmt: skip
    folder_argument(parser, "federation", "folder to make")
    parser.add_argument("--address", required=True, metavar="HOST:PORT", help="under which holders reach the server")
    parser.add_argument("--listen", metavar="HOST:PORT", help="what the server binds (default 0.0.0.0 and that port)")
    parser.add_argument("--name", default="fedwalk", help="the federation's name (default fedwalk)")
    parser.add_argument("--days", type=int, default=DAYS, metavar="N", help=f"of its certificate (default {DAYS})")
    parser.add_argument("--largest-answer", type=int, default=256, metavar="MB",
                        help="the most that one holder may send in a run (default 256 MB)")  # fmt: skip
    parser.set_defaults(call=_init)


def _add_renew(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "renew", help="operator: a new certificate for the server, or a new address",
        description="Gives the server a new key and certificate by the same authority. Holders notice nothing, unless "
        "the address changes: then each needs a new pass.",
    )  # fmt: skip
    folder_argument(parser, "federation", "folder that `init` made")
    parser.add_argument("--address", metavar="HOST:PORT", help="under which holders reach the server from now on")
    parser.add_argument("--days", type=int, default=DAYS, metavar="N", help=f"of the certificate (default {DAYS})")
    parser.set_defaults(call=_renew)


def _add_enrol(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "enrol", help="holder: make keys and a request",
        description="Makes the holder's keys, which never leave its folder, and a request for the operator. LISTS has "
        "a line per device, `device neighbour neighbour …`; the file stays where it is and is never sent. "
        "Run it again after adding devices, or with a new --address: what isn't given stays as it was.",
    )  # fmt: skip
    folder_argument(parser, "holder", "folder to make")
    parser.add_argument("--name", help="the holder's name: a-z, 0-9 and hyphens")
    parser.add_argument("--lists", type=Path, metavar="LISTS", help="neighbour lists of the devices")
    parser.add_argument("--address", metavar="HOST:PORT", help="where other holders reach this one")
    parser.add_argument("--listen", metavar="HOST:PORT", help="what its endpoint binds (default 0.0.0.0 and that port)")
    parser.add_argument(
        "--allow", action="append", choices=("ldp", "paper"), metavar="PROTOCOL",
        help="agree to this protocol beside ldp; paper's privacy loss is unbounded (default ldp alone)",
    )  # fmt: skip
    parser.add_argument("--budget", type=float, metavar="E", help="most epsilon per edge, over all runs (default none)")
    parser.add_argument("--most-walks", type=int, metavar="G", help="most walks per device in a run (default any)")
    parser.set_defaults(call=_enrol)


def _init(options: argparse.Namespace) -> int:
    need_flower()
    from fedwalk.federation.enrolment import found
    from fedwalk.federation.folders import FederationSettings
    from fedwalk.federation.identity import authority_fingerprint

    listen = options.listen or f"0.0.0.0:{options.address.rpartition(':')[2]}"
    settings = FederationSettings(options.name, options.address, listen, options.largest_answer << 20)
    folder = found(options.federation, settings, options.days)
    print(f"A federation: {folder.path}. Holders will reach its server at {options.address}; it listens on {listen}.")
    print(f"Its authority's fingerprint: {authority_fingerprint((folder.path / 'authority.pem').read_bytes())}")
    print(f"Keep {folder.path}/authority.key secret: whoever has it decides who is a holder.")
    print("Next:    each holder runs `fedwalk federate enrol` and sends you its request.json;")
    print(f"         fedwalk federate admit {folder.path} request.json")
    return 0


def _renew(options: argparse.Namespace) -> int:
    need_flower()
    from fedwalk.federation.enrolment import renew_server
    from fedwalk.federation.folders import FederationFolder
    from fedwalk.federation.identity import certificate_end

    folder = FederationFolder(options.federation)
    before = folder.settings()
    now = renew_server(folder, options.days, options.address)
    end = certificate_end(folder.credentials().certificate)
    print(f"The server has a new certificate, for {now.address}, until {end:%Y-%m-%d}; it listens on {now.listen}.")
    print(f"Next:    restart it: fedwalk federate down {folder.path}; fedwalk federate server {folder.path}")
    if now.address != before.address:
        print("         and `fedwalk federate admit` every holder's request again: its pass has the old address")
    return 0


def _enrol(options: argparse.Namespace) -> int:
    need_flower()
    from fedwalk.federation.enrolment import enrol
    from fedwalk.federation.folders import HolderFolder
    from fedwalk.federation.identity import fingerprint
    from fedwalk.federation.status import terms_text

    folder = HolderFolder(options.holder)
    settings = _changed(folder.settings(), options) if folder.settings_file.exists() else _new_holder(options)
    request = enrol(folder.path, settings)
    devices = counted(len(request.devices), "device", "devices")
    print(f"Holder {settings.name} with {devices}: {folder.path}. It agrees to {terms_text(settings.terms)}.")
    print(f"Others reach it at {settings.address}; it listens on {settings.listen}. {folder.settings_file} has it all.")
    if settings.simulation_seed is not None:
        print(f"It simulates: its noise comes from the seed {settings.simulation_seed}, which protects nothing.")
    print(f"Send {folder.request} to the operator: the devices' names, no neighbour, no secret.")
    print(f"Its fingerprint, to be compared by phone: {fingerprint(request)}")
    print(f"Next:    fedwalk federate holder {folder.path} --pass FILE   with the pass that comes back")
    return 0


def _new_holder(options: argparse.Namespace) -> "HolderSettings":
    """What a first `enrol` decides."""
    from fedwalk.federation.folders import HolderSettings
    from fedwalk.federation.holder import Terms

    if missing := [f"--{name}" for name in ("name", "lists", "address") if not getattr(options, name)]:
        raise SettingsError(f"{options.holder}: is no holder yet. To make one, give {', '.join(missing)} too.")
    listen = options.listen or f"0.0.0.0:{options.address.rpartition(':')[2]}"
    terms = Terms(_allowed(options.allow or []), options.budget, options.most_walks)
    return HolderSettings(options.name, options.address, listen, str(options.lists.resolve()), terms)


def _changed(before: "HolderSettings", options: argparse.Namespace) -> "HolderSettings":
    """What a later `enrol` decides: what is given, and else what stood."""
    from fedwalk.federation.enrolment import following

    given = {"protocols": options.allow and _allowed(options.allow), "budget": options.budget}
    given["most_walks"] = options.most_walks
    terms = replace(before.terms, **{name: value for name, value in given.items() if value is not None})
    address = options.address or before.address
    return replace(
        before,
        name=options.name or before.name,
        address=address,
        listen=options.listen or following(before.listen, before.address, address),
        lists=str(options.lists.resolve()) if options.lists else before.lists,
        terms=terms,
    )


def _allowed(more: list[str]) -> tuple[str, ...]:
    """ldp, and what the owner allows beside it."""
    return tuple(dict.fromkeys(["ldp", *more]))


def _admit(options: argparse.Namespace) -> int:
    need_flower()
    from fedwalk.federation.enrolment import admit_holder
    from fedwalk.federation.folders import FederationFolder
    from fedwalk.federation.identity import authority_fingerprint, fingerprint, load_request
    from fedwalk.federation.registration import register_holders
    from fedwalk.federation.service import is_running

    folder = FederationFolder(options.federation)
    folder.settings()
    request = load_request(options.request)
    seen = fingerprint(request)
    if options.fingerprint and options.fingerprint.replace(" ", "") != seen.replace(" ", ""):
        raise InputError(f"{options.request}: its fingerprint is {seen}. This isn't the request that you were told of.")
    path = admit_holder(folder, request, options.days)
    devices, days = counted(len(request.devices), "device", "devices"), counted(options.days, "day", "days")
    print(f"Admitted {request.name} with {devices}, for {days}.")
    print(f"Fingerprint of the request: {seen}")
    print(f"of the authority, which the holder compares: {authority_fingerprint(folder.credentials().authority)}")
    print(f"Next:    send {path} to the holder (nothing in it is secret)", flush=True)
    if is_running(folder.state):
        register_holders(folder)
    return 0


def _remove(options: argparse.Namespace) -> int:
    need_flower()
    from fedwalk.federation.enrolment import remove_holder
    from fedwalk.federation.folders import FederationFolder
    from fedwalk.federation.registration import register_holders
    from fedwalk.federation.service import is_running

    folder = FederationFolder(options.federation)
    folder.settings()
    remove_holder(folder, options.name)
    print(f"Removed {options.name}: from the next run on it is asked nothing, and its tokens are refused.", flush=True)
    if is_running(folder.state):
        register_holders(folder)
    return 0
