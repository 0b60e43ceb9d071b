"""`enrol`: make a holder's keys and its request, or change its settings."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fedwalk.cli.arguments import Commands
from fedwalk.cli.federate import add_command, folder_argument
from fedwalk.errors import SettingsError
from fedwalk.protocols.registry import FEDERATED
from fedwalk.util.text import counted

if TYPE_CHECKING:
    from fedwalk.federation.membership.folders import HolderSettings


def add_parsers(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands, "enrol", _enrol,
        summary="holder: make keys and a request",
        description="Makes the holder's keys, which never leave its folder, and a request for the operator. The file "
        "of neighbour lists has a line per device, `device neighbour neighbour …`; it stays where it is and is never "
        "sent. Run the command again after adding devices, or to change options: those that aren't given are kept.",
    )  # fmt: skip
    folder_argument(parser, "holder", "folder to create")
    parser.add_argument("--name", help="the holder's name: a-z, 0-9 and hyphens")
    parser.add_argument("--neighbours", type=Path, metavar="FILE", help="file of the devices' neighbour lists")
    parser.add_argument("--address", metavar="HOST:PORT",
                        help="where other holders reach this one; not needed if only ldp is allowed")  # fmt: skip
    parser.add_argument("--listen", metavar="HOST:PORT", help="what it listens on (default 0.0.0.0 and that port)")
    parser.add_argument(
        "--allow", action="append", choices=FEDERATED, metavar="PROTOCOL",
        help="allow this protocol in addition to ldp; paper's privacy loss is unbounded (default: only ldp)",
    )  # fmt: skip
    parser.add_argument(
        "--budget", type=float, metavar="E", help="maximum epsilon per edge, over all runs (default: no limit)"
    )
    parser.add_argument(
        "--max-walks", type=int, metavar="G", help="maximum number of walks per device in a run (default: no limit)"
    )


def _enrol(options: argparse.Namespace) -> int:
    from fedwalk.federation.deploy.status import terms_text
    from fedwalk.federation.membership.admission import enrol
    from fedwalk.federation.membership.folders import HolderFolder
    from fedwalk.federation.membership.requests import request_fingerprint

    folder = HolderFolder(options.holder)
    settings = _changed(folder.settings(), options) if folder.settings_file.exists() else _new_holder(options)
    request = enrol(folder.path, settings)
    devices = counted(len(request.devices), "device", "devices")
    print(f"Holder {settings.name} with {devices}: {folder.path}. It agrees to {terms_text(settings.terms)}.")
    where = f"Other holders reach it at {settings.address}; it listens on {settings.listen}."
    print(f"{where if settings.address else 'It needs no open port.'} Its settings are in {folder.settings_file}.")
    if settings.simulation_seed is not None:
        print(f"It is a simulation: its noise comes from the seed {settings.simulation_seed}, which protects nothing.")
    print(f"Send {folder.request} to the operator. It contains the devices' names, but no neighbours and no secrets.")
    print(f"Its fingerprint, to be compared by phone: {request_fingerprint(request)}")
    print(f"Next:    fedwalk federate holder {folder.path} --pass FILE   with the pass that the operator returns")
    return 0


def _new_holder(options: argparse.Namespace) -> "HolderSettings":
    """The settings of a new holder."""
    from fedwalk.federation.holder.terms import Terms
    from fedwalk.federation.membership.folders import HolderSettings
    from fedwalk.federation.names import all_interfaces

    terms = Terms(_allowed(options.allow or []), options.budget, options.max_walks)
    needed = ("name", "neighbours", "address") if terms.need_address else ("name", "neighbours")
    if missing := [f"--{name}" for name in needed if not getattr(options, name)]:
        raise SettingsError(f"{options.holder}: isn't a holder yet. To make one, also give {', '.join(missing)}.")
    address = options.address or ""
    listen = options.listen or all_interfaces(address)
    # The path is made absolute: the holder may be started from another directory.
    return HolderSettings(options.name, address, listen, str(options.neighbours.resolve()), terms)


def _changed(before: "HolderSettings", options: argparse.Namespace) -> "HolderSettings":
    """The settings of an existing holder, with the options that are given now."""
    from fedwalk.federation.names import listen_after_move

    given = {"protocols": options.allow and _allowed(options.allow), "budget": options.budget}
    given["max_walks"] = options.max_walks
    terms = replace(before.terms, **{name: value for name, value in given.items() if value is not None})
    address = options.address or before.address
    return replace(
        before,
        name=options.name or before.name,
        address=address,
        listen=options.listen or listen_after_move(before.listen, before.address, address),
        neighbours=str(options.neighbours.resolve()) if options.neighbours else before.neighbours,
        terms=terms,
    )


def _allowed(more: list[str]) -> tuple[str, ...]:
    """The protocols that every holder allows by default, and the further ones that this owner allows."""
    from fedwalk.federation.holder.terms import default_protocols

    return tuple(dict.fromkeys([*default_protocols(), *more]))
