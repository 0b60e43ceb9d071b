"""`init`, `renew`, `enrol`, `admit`, `remove`: who belongs to a federation."""

import argparse
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fedwalk.cli.federate import folder_argument, need_flower
from fedwalk.errors import InputError, SettingsError
from fedwalk.words import counted

if TYPE_CHECKING:
    from fedwalk.federation.folders import HolderSettings
    from fedwalk.federation.identity import Request

DAYS, OVERLAP = 365, 30


def add_parsers(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Enter the five commands."""
    _add_init(commands)
    _add_renew(commands)
    _add_enrol(commands)
    _add_admit(commands)
    remove = commands.add_parser(
        "remove", help="operator: take a holder out",
        description="The server refuses the holder at once, and so do other holders in a run that is going on. Its "
        "vertices keep their ids.",
    )  # fmt: skip
    folder_argument(remove, "federation", "folder that `init` made")
    remove.add_argument("name", metavar="NAME", help="the holder's name")
    remove.set_defaults(call=_remove)


def _add_admit(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "admit", help="operator: take a holder in, or renew its certificate",
        description="Reads a holder's request, gives ids to its devices, writes its pass. Have the holder read the "
        "request's fingerprint to you by phone first: anyone who can replace the file on its way could take the "
        "holder's place. Without --fingerprint the command asks for it.",
    )  # fmt: skip
    folder_argument(parser, "federation", "folder that `init` made")
    parser.add_argument("request", type=Path, metavar="REQUEST", help="request.json of the holder")
    parser.add_argument("--days", type=int, default=DAYS, metavar="N", help=f"validity of its pass (default {DAYS})")
    parser.add_argument(
        "--fingerprint", metavar="F",
        help="the fingerprint that the holder read to you; spaces and case don't matter (default: asked for)",
    )  # fmt: skip
    parser.add_argument(
        "--new-keys", action="store_true",
        help="admit new keys of a known holder although its old key, which it has lost, hasn't signed the request",
    )  # fmt: skip
    parser.set_defaults(call=_admit)


def _add_init(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "init", help="operator: make a federation",
        description="Makes the certificate authority, the server's certificate, an empty roster and the Flower app. "
        "Keep the folder private: authority.key decides who is a holder.",
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
        "renew", help="new certificates or keys, for a federation or a holder",
        description="In a federation's folder: gives the server a new key and certificate by the same authority. "
        "Holders notice nothing, unless the address changes: then each needs a new pass. With --authority the "
        "authority itself is replaced, and each holder needs a new pass before the overlap ends. In a holder's folder: "
        "makes new keys and a request that the old key has signed, for the operator to admit; the old keys stay in use "
        "until then, and the new ones are used when the new pass is taken.",
    )  # fmt: skip
    folder_argument(parser, "folder", "of a federation or a holder")
    parser.add_argument("--address", metavar="HOST:PORT", help="under which holders reach the server from now on")
    parser.add_argument("--days", type=int, metavar="N", help=f"of the server's certificate (default {DAYS})")
    parser.add_argument("--authority", action="store_true", help="make a new authority")
    parser.add_argument(
        "--overlap", type=int, metavar="DAYS",
        help=f"how long the old authority is still trusted; 0 if its key was stolen (default {OVERLAP})",
    )  # fmt: skip
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
    parser.add_argument("--address", metavar="HOST:PORT",
                        help="where other holders reach this one; not needed for ldp alone")  # fmt: skip
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
    from fedwalk.federation.enrolment import everywhere, found
    from fedwalk.federation.folders import FederationSettings
    from fedwalk.federation.identity import authority_fingerprint

    listen = options.listen or everywhere(options.address)
    settings = FederationSettings(options.name, options.address, listen, options.largest_answer << 20)
    folder = found(options.federation, settings, options.days)
    print(f"A federation: {folder.path}. Holders will reach its server at {options.address}; it listens on {listen}.")
    print(f"Its authority's fingerprint: {authority_fingerprint((folder.path / 'authority.pem').read_bytes())}")
    print(f"Keep {folder.path}/authority.key secret: it decides who is a holder.")
    print(
        "Next:    each holder runs `fedwalk federate enrol`, sends you its request.json and reads its fingerprint out;"
    )
    print(f'         fedwalk federate admit {folder.path} request.json --fingerprint "…"')
    return 0


def _renew(options: argparse.Namespace) -> int:
    need_flower()
    from fedwalk.federation.status import is_federation

    if not is_federation(options.folder):
        return _renew_keys(options)
    if options.overlap is not None and not options.authority:
        raise SettingsError("--overlap goes with --authority.")
    if options.authority and options.address:
        raise SettingsError("Renew the authority and the address one after the other: first --address.")
    return _renew_authority(options) if options.authority else _renew_server(options)


def _renew_server(options: argparse.Namespace) -> int:
    from fedwalk.federation.enrolment import renew_server
    from fedwalk.federation.folders import FederationFolder
    from fedwalk.federation.identity import certificate_end

    folder = FederationFolder(options.folder)
    before = folder.settings()
    now = renew_server(folder, DAYS if options.days is None else options.days, options.address)
    end = certificate_end(folder.credentials().certificate)
    print(f"The server has a new certificate, for {now.address}, until {end:%Y-%m-%d}; it listens on {now.listen}.")
    print(f"Next:    restart it: fedwalk federate down {folder.path}; fedwalk federate server {folder.path}")
    if now.address != before.address:
        print("         and `fedwalk federate admit` every holder's request again: its pass has the old address")
    return 0


def _renew_authority(options: argparse.Namespace) -> int:
    from fedwalk.federation.enrolment import renew_authority
    from fedwalk.federation.folders import FederationFolder
    from fedwalk.federation.identity import authority_fingerprint
    from fedwalk.federation.validity import date_text

    folder = FederationFolder(options.folder)
    overlap = OVERLAP if options.overlap is None else options.overlap
    until = renew_authority(folder, DAYS if options.days is None else options.days, overlap)
    print(f"A new authority. Its fingerprint: {authority_fingerprint(folder.credentials().authority)}")
    print("The old authority's key is deleted, and the server has a new certificate.")
    if until:
        print(f"The old authority is trusted until {date_text(until)}: each holder needs its new pass by then.")
    else:
        print("The old authority isn't trusted any more: no holder can connect without a new pass. Each has to compare")
        print("the fingerprint by phone and move its authority.pem away before it takes that pass.")
    print(f"Next:    restart the server: fedwalk federate down {folder.path}; fedwalk federate server {folder.path}")
    print("         `fedwalk federate admit` every holder's request again, and send each its new pass")
    return 0


def _renew_keys(options: argparse.Namespace) -> int:
    from fedwalk.federation.enrolment import renew_keys
    from fedwalk.federation.folders import HolderFolder
    from fedwalk.federation.identity import fingerprint

    folder = HolderFolder(options.folder)
    if options.authority or any(value is not None for value in (options.address, options.days, options.overlap)):
        raise SettingsError(
            f"{folder.path}: is a holder, for which `renew` makes new keys and takes no options. For a new address: "
            f"fedwalk federate enrol {folder.path} --address HOST:PORT"
        )
    request = renew_keys(folder)
    print(f"New keys for {request.name} wait in {folder.next_keys}; the old ones are in use until the pass is taken.")
    print(f"Send {folder.request} to the operator. The old key has signed it, so that the holder is known by it.")
    print(f"Its fingerprint, to be read out by phone: {fingerprint(request)}")
    print("Once it is admitted, the server refuses the old keys:")
    print(f"Next:    fedwalk federate holder {folder.path} --pass FILE   with the pass that comes back")
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
    where = f"Others reach it at {settings.address}; it listens on {settings.listen}."
    print(f"{where if settings.address else 'It needs no open port.'} {folder.settings_file} has its settings.")
    if settings.simulation_seed is not None:
        print(f"It simulates: its noise comes from the seed {settings.simulation_seed}, which protects nothing.")
    print(f"Send {folder.request} to the operator: the devices' names, no neighbour, no secret.")
    print(f"Its fingerprint, to be compared by phone: {fingerprint(request)}")
    print(f"Next:    fedwalk federate holder {folder.path} --pass FILE   with the pass that comes back")
    return 0


def _new_holder(options: argparse.Namespace) -> "HolderSettings":
    """What a first `enrol` decides."""
    from fedwalk.federation.enrolment import everywhere
    from fedwalk.federation.folders import HolderSettings
    from fedwalk.federation.holder import Terms

    needed = ("name", "lists", "address") if "paper" in (options.allow or []) else ("name", "lists")
    if missing := [f"--{name}" for name in needed if not getattr(options, name)]:
        raise SettingsError(f"{options.holder}: is no holder yet. To make one, give {', '.join(missing)} too.")
    address = options.address or ""
    terms = Terms(_allowed(options.allow or []), options.budget, options.most_walks)
    listen = options.listen or everywhere(address)
    return HolderSettings(options.name, address, listen, str(options.lists.resolve()), terms)


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
    _check_fingerprint(options, request)
    path = admit_holder(folder, request, options.days, new_keys=options.new_keys)
    devices, days = counted(len(request.devices), "device", "devices"), counted(options.days, "day", "days")
    print(f"Admitted {request.name} with {devices}, for {days}.")
    print(f"Fingerprint of the request: {fingerprint(request)}")
    print(f"of the authority, which the holder compares: {authority_fingerprint(folder.credentials().authority)}")
    print(f"Next:    send {path} to the holder (nothing in it is secret)", flush=True)
    if is_running(folder.state):
        register_holders(folder)
    return 0


def _check_fingerprint(options: argparse.Namespace, request: "Request") -> None:
    """Refuse a request unless its fingerprint is the one that the holder read out.

    The fingerprint is never shown before it is given: the operator would compare it with itself.
    """
    from fedwalk.federation.identity import fingerprint

    given = options.fingerprint
    if given is None:
        if not sys.stdin.isatty():
            raise InputError(
                f"{options.request}: its fingerprint has to be compared, and there is no terminal to ask for it. Have "
                'the holder read it to you, then add --fingerprint "…".'
            )
        address = request.address or "none: ldp alone"
        print(f"{options.request}: {request.name}, {counted(len(request.devices), 'device', 'devices')}, {address}")
        with suppress(EOFError):
            given = input("The fingerprint that the holder read to you: ")
    if "".join((given or "").split()).lower() != fingerprint(request).replace(" ", ""):
        raise InputError(
            f"{options.request}: has another fingerprint than the one given. This isn't the request that you were told "
            "of, or a digit is wrong. The holder sees its fingerprint with `fedwalk federate enrol FOLDER`."
        )


def _remove(options: argparse.Namespace) -> int:
    need_flower()
    from fedwalk.federation.enrolment import remove_holder
    from fedwalk.federation.folders import FederationFolder
    from fedwalk.federation.registration import register_holders
    from fedwalk.federation.service import is_running

    folder = FederationFolder(options.federation)
    folder.settings()
    remove_holder(folder, options.name)
    print(f"Removed {options.name}: the server and the other holders refuse it from now on.", flush=True)
    if is_running(folder.state):
        register_holders(folder)
    return 0
