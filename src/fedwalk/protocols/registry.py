"""The known protocols: ours, and those that other installed packages add.

A package adds a protocol through the entry point group `fedwalk.protocols`, for instance in its pyproject.toml:

    [project.entry-points."fedwalk.protocols"]
    sampled = "fedwalk_sampled:PROTOCOL"

A program can also add one with `register`. A protocol's module is imported when the protocol is first used,
so that `fedwalk --help` stays fast.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from fedwalk.errors import SettingsError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from fedwalk.protocols.base import Protocol
    from fedwalk.protocols.federated import Federated

GROUP = "fedwalk.protocols"
OURS = ("paper", "ldp", "deepwalk")
"""Each is a folder here with a module `protocol`."""
FEDERATED = ("paper", "ldp")
"""The names in `federated_protocols()`, for command lines, which don't import them; a test compares the two."""

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
    protocols = []
    for name in protocol_names()[len(OURS) :]:
        with suppress(SettingsError):
            protocols.append(find_protocol(name))
    return protocols


@cache
def federated_protocols() -> "dict[str, Federated]":
    """Our protocols that can run over holders, and how. Holders don't take part in protocols of other packages."""
    known = {name: find_protocol(name).federated for name in OURS}
    return {name: federated for name, federated in known.items() if federated is not None}


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
    except Exception as error:  # importing another package's code can raise anything
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
        if entry.name not in OURS:
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
    from fedwalk.protocols.base import Protocol
    from fedwalk.protocols.settings import Settings

    if not isinstance(value, Protocol):
        raise SettingsError(
            f"{origin}: expected a fedwalk.protocols.base.Protocol, got {type(value).__name__}. Name the protocol's "
            f"value{' in the entry point' if name is not None else ''}."
        )
    if name is not None and value.name != name:
        raise SettingsError(
            f"{origin}: the entry point is named {name!r}, but its protocol {value.name!r}. Give both the same name."
        )
    for problem in _problems(value, Settings.__slots__):
        raise SettingsError(f"{origin}: protocol {value.name!r}: {problem}.")
    return value


def _problems(protocol: "Protocol", shared: Collection[str]) -> Iterator[str]:
    """What is wrong with the protocol's settings and stages, and what to do about it."""
    for setting in protocol.settings:
        if setting.name in shared:
            yield f"its own setting {setting.name!r} has the name of a shared one: rename it"
    for name in protocol.reads:
        if name not in shared:
            yield f"it reads {name!r}, which is not a setting: remove it from `reads`"
    own = {setting.name for setting in protocol.settings}
    for name in protocol.release_settings:
        if name not in shared and name not in own:
            yield f"its releases depend on {name!r}, which is not a setting: remove it from `release_settings`"
    # A run folder stores stages by their names and files: two with the same would overwrite each other.
    for name in _repeated(stage.name for stage in protocol.stages):
        yield f"two of its stages are named {name!r}: rename one of them"
    for file in _repeated(file for stage in protocol.stages for file in stage.files):
        yield f"two of its stages are stored in {file!r}: rename one of the files"


def _repeated(names: Iterable[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]
