"""The known protocols: ours, and those that other installed packages add.

A package adds a protocol through the entry point group `fedwalk.protocols`, for instance in its pyproject.toml:

    [project.entry-points."fedwalk.protocols"]
    sampled = "fedwalk_sampled:PROTOCOL"

A program can also add one with `register`. A protocol's module is imported when the protocol is first used,
so that `fedwalk --help` stays fast.
"""

import warnings
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from fedwalk.errors import FedWalkWarning, SettingsError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from fedwalk.protocols.base import Protocol
    from fedwalk.protocols.federated import Federated

GROUP = "fedwalk.protocols"
OURS = ("paper", "ldp", "deepwalk")
"""Each is a folder here with a module `protocol`."""
FEDERATED = ("paper", "ldp")
"""The names in `federated_protocols()`, for command lines, which don't import them; a test compares the two."""
FEDERATED_DEFAULT = "ldp"
"""What a federation runs unless its operator names another: the one that holders allow by default."""

_registered: "dict[str, Protocol]" = {}


def register(protocol: "Protocol") -> "Protocol":
    """Make a protocol known by its name in this process."""
    checked = _checked(protocol, "this program")
    _check_new(checked.name, "this program")
    _registered[checked.name] = checked
    return checked


def protocol_names() -> tuple[str, ...]:
    """The names of all protocols, ours first. Imports none of them."""
    return (*OURS, *_entry_points(), *_registered)


def added_protocols() -> "list[Protocol]":
    """The protocols that aren't ours. One that can't be imported is left out: using it by name says why."""
    known = map(known_protocol, protocol_names()[len(OURS) :])
    return [protocol for protocol in known if protocol is not None]


@cache
def federated_protocols() -> "dict[str, Federated]":
    """Our protocols that can run over holders, and how. Holders don't take part in protocols of other packages."""
    known = {name: find_protocol(name).federated for name in OURS}
    return {name: federated for name, federated in known.items() if federated is not None}


def known_protocol(name: str) -> "Protocol | None":
    """The protocol of that name; None if it isn't installed here, or its package can't be used."""
    try:
        return find_protocol(name)
    except SettingsError:
        return None


def package_of(name: str) -> str:
    """The package that brings a protocol, with its version: another version may draw other noise. Empty for ours."""
    if name in OURS:
        return ""
    if name in _registered:
        return "registered by a program"
    distribution = _entry_points()[name][0].dist
    return "" if distribution is None else f"{distribution.name} {distribution.version}"


def find_protocol(name: str) -> "Protocol":
    """The protocol of that name; SettingsError lists the known ones."""
    known = protocol_names()
    if isinstance(name, str) and name in _registered:
        return _registered[name]
    if name not in known:
        raise SettingsError(f"protocol = {name!r}: choose from {', '.join(known)}.")
    return _load(name)


@cache
def _load(name: str) -> "Protocol":
    if name in OURS:
        protocol: Protocol = import_module(f"fedwalk.protocols.{name}.protocol").PROTOCOL
        return protocol
    entry, *others = _entry_points()[name]
    if others:
        packages = " and ".join(sorted({_package(one) for one in (entry, *others)}))
        raise SettingsError(f"protocol = {name!r}: the packages {packages} both have this name. Remove one of them.")
    try:
        value = entry.load()
    except (Exception, SystemExit) as error:  # importing another package's code can raise anything
        raise SettingsError(
            f"protocol = {name!r}: {entry.value} can't be imported ({type(error).__name__}: {error}). "
            f"Reinstall or remove the package {_package(entry)}."
        ) from error
    return _checked(value, f"{entry.value} of the package {_package(entry)}", name)


@cache
def _entry_points() -> "dict[str, list[EntryPoint]]":
    """The entry points by name; several if packages use the same name. A package can't replace one of our protocols."""
    # Not at the top: it takes as long to import as the rest of the command line, and `fedwalk --help` doesn't need it.
    from importlib.metadata import entry_points

    by_name: dict[str, list[EntryPoint]] = {}
    for entry in entry_points(group=GROUP):
        if entry.name in OURS:
            text = f"the protocol {entry.name!r} of the package {_package(entry)} is ignored: fedwalk has its own."
            warnings.warn(text, FedWalkWarning, stacklevel=2)
        else:
            by_name.setdefault(entry.name, []).append(entry)
    return by_name


def _package(entry: "EntryPoint") -> str:
    return entry.dist.name if entry.dist is not None else "that brings it"


def _check_new(name: str, origin: str) -> None:
    # A program may register a protocol again, for example when a notebook's cell is run twice.
    if name in protocol_names() and name not in _registered:
        raise SettingsError(f"protocol {name!r} of {origin}: this name is already taken. Choose another one.")


def _checked(value: object, origin: str, name: str | None = None) -> "Protocol":
    """Return the value; SettingsError if it isn't a protocol, or if its settings or stages can't be used."""
    # Only when a protocol is used: these modules take longer to import than the rest of `fedwalk --help`.
    from fedwalk.protocols.base import Protocol
    from fedwalk.protocols.value_checks import problems_of

    if not isinstance(value, Protocol):
        raise SettingsError(
            f"{origin}: expected a fedwalk.protocols.base.Protocol, got {type(value).__name__}. Name the protocol's "
            f"value{' in the entry point' if name is not None else ''}."
        )
    if name is not None and value.name != name:
        raise SettingsError(
            f"{origin}: the entry point is named {name!r}, but its protocol {value.name!r}. Give both the same name."
        )
    for problem in problems_of(value):
        raise SettingsError(f"{origin}: protocol {value.name!r}: {problem}.")
    return value
