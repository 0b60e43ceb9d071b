"""`init`, `enrol`, `admit`, `remove`: who belongs to a federation."""

import argparse
from pathlib import Path

from fedwalk.cli.federate import folder_argument, need_flower
from fedwalk.errors import InputError

DAYS = 365


def add_parsers(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Enter the four commands."""
    _add_init(commands)
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


def _add_enrol(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "enrol", help="holder: make keys and a request",
        description="Makes the holder's keys, which never leave its folder, and a request for the operator. LISTS has "
        "a line per device, `device neighbour neighbour …`; it stays where it is, and no neighbour in it is ever sent. "
        "Run it again after adding devices.",
    )  # fmt: skip
    folder_argument(parser, "holder", "folder to make")
    parser.add_argument("--name", required=True, help="the holder's name: a-z, 0-9 and hyphens")
    parser.add_argument("--lists", required=True, type=Path, metavar="LISTS", help="neighbour lists of the devices")
    parser.add_argument("--address", required=True, metavar="HOST:PORT", help="where other holders reach this one")
    parser.add_argument("--listen", metavar="HOST:PORT", help="what its endpoint binds (default 0.0.0.0 and that port)")
    parser.add_argument(
        "--allow", action="append", choices=("ldp", "paper"), metavar="PROTOCOL",
        help="agree to ldp or paper, may be repeated (default ldp; paper's privacy loss is unbounded)",
    )  # fmt: skip
    parser.add_argument("--budget", type=float, metavar="E", help="most epsilon per edge, over all runs (default none)")
    parser.add_argument("--most-walks", type=int, metavar="G", help="most walks per device in a run (default any)")
    parser.set_defaults(call=_enrol)


def _init(options: argparse.Namespace) -> int:
    need_flower()
    from fedwalk.federation.enrolment import found
    from fedwalk.federation.folders import FederationSettings

    listen = options.listen or f"0.0.0.0:{options.address.rpartition(':')[2]}"
    settings = FederationSettings(options.name, options.address, listen, options.largest_answer << 20)
    folder = found(options.federation, settings, options.days)
    print(f"A federation: {folder.path}. Holders will reach its server at {options.address}; it listens on {listen}.")
    print(f"Keep {folder.path}/authority.key secret: whoever has it decides who is a holder.")
    print("Next:    each holder runs `fedwalk federate enrol` and sends you its request.json;")
    print(f"         fedwalk federate admit {folder.path} request.json")
    return 0


def _enrol(options: argparse.Namespace) -> int:
    need_flower()
    from fedwalk.federation.enrolment import enrol
    from fedwalk.federation.folders import HolderSettings
    from fedwalk.federation.holder import Terms
    from fedwalk.federation.identity import fingerprint
    from fedwalk.federation.status import terms_text

    listen = options.listen or f"0.0.0.0:{options.address.rpartition(':')[2]}"
    terms = Terms(tuple(options.allow or ("ldp",)), options.budget, options.most_walks)
    settings = HolderSettings(options.name, options.address, listen, str(options.lists.resolve()), terms)
    request = enrol(options.holder, settings)
    count = len(request.devices)
    print(f"Holder {options.name} with {count:,} devices: {options.holder}. It agrees to {terms_text(terms)}.")
    print(f"Send {options.holder}/request.json to the operator: the devices' names, no neighbour, no secret.")
    print(f"Its fingerprint, to be compared by phone: {fingerprint(request)}")
    print(f"Next:    fedwalk federate holder {options.holder} --pass FILE   with the pass that comes back")
    return 0


def _admit(options: argparse.Namespace) -> int:
    need_flower()
    from fedwalk.federation.enrolment import admit_holder, register_holders
    from fedwalk.federation.folders import FederationFolder
    from fedwalk.federation.identity import fingerprint, read_request
    from fedwalk.federation.service import is_running

    folder = FederationFolder(options.federation)
    folder.settings()
    try:
        request = read_request(options.request.read_bytes())
    except InputError as error:
        raise InputError(f"{options.request}: {error}") from error
    seen = fingerprint(request)
    if options.fingerprint and options.fingerprint.replace(" ", "") != seen.replace(" ", ""):
        raise InputError(f"{options.request}: its fingerprint is {seen}. This isn't the request that you were told of.")
    path = admit_holder(folder, request, options.days)
    if is_running(folder.state):
        register_holders(folder)
    print(f"Admitted {request.name} with {len(request.devices):,} devices, for {options.days} days.")
    print(f"Fingerprint: {seen}")
    print(f"Next:    send {path} to the holder (nothing in it is secret)")
    return 0


def _remove(options: argparse.Namespace) -> int:
    need_flower()
    from fedwalk.federation.enrolment import register_holders, remove_holder
    from fedwalk.federation.folders import FederationFolder
    from fedwalk.federation.service import is_running

    folder = FederationFolder(options.federation)
    remove_holder(folder, options.name)
    if is_running(folder.state):
        register_holders(folder)
    print(f"Removed {options.name}: from the next run on it is asked nothing, and its tokens are refused.")
    return 0
