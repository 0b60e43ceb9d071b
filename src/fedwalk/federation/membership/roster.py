"""The roster: the operator's directory of all holders, their addresses, and which device is which vertex.

A vertex id is assigned once, in the order of admission, and never changes: runs, ledgers and stored answers refer to
it. So a holder that leaves is marked as removed and keeps its ids.
"""

import hashlib
import json
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import InputError, RunFolderError
from fedwalk.federation.membership.keys import read_node_key
from fedwalk.federation.membership.requests import Request
from fedwalk.federation.names import check_address, check_devices, check_name
from fedwalk.graph.names import is_integer
from fedwalk.util.checked_json import read_json
from fedwalk.util.files import write_private

KIND = "fedwalk roster 1"
MAX_BYTES = 1 << 30
"""Largest file that is read: enough for tens of millions of vertices."""


@dataclass(frozen=True, slots=True)
class Holder:
    """One holder: `node_key` is its SuperNode's public key, `devices` are the ids of its vertices.

    `address` is empty for a holder that takes part in `ldp` only.
    """

    name: str
    address: str
    node_key: str
    devices: tuple[int, ...]
    removed: bool = False


@dataclass(frozen=True, slots=True)
class Roster:
    """All holders in the order of admission, including removed ones, and the vertices' names in the order of their ids.

    Examples
    --------
    >>> from fedwalk.federation.membership.keys import new_node_key, new_tls_key
    >>> from fedwalk.federation.membership.requests import holder_request, read_request
    >>> data = holder_request("clinic", "192.0.2.8:7443", ["10", "9"], new_tls_key(), new_node_key())
    >>> roster = Roster().admitted(read_request(data))
    >>> roster.names, roster.holder("clinic").devices
    (('9', '10'), (0, 1))
    >>> roster.removed("clinic").names
    ('9', '10')
    """

    holders: tuple[Holder, ...] = ()
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # Ids have no gaps, because runs use them as indices of arrays.
        ids = sorted(device for holder in self.holders for device in holder.devices)
        if ids != list(range(len(self.names))) or len(set(self.names)) < len(self.names):
            raise InputError("Every vertex needs a name of its own and exactly one holder.")
        # Names and keys of removed holders stay reserved; their addresses are free for others.
        present = [holder for holder in self.holders if not holder.removed]
        _all_differ("name", [holder.name for holder in self.holders])
        _all_differ("SuperNode key", [holder.node_key for holder in self.holders])
        _all_differ("address", [holder.address.lower() for holder in present if holder.address])

    def admitted(self, request: Request, *, new_keys: bool = False) -> "Roster":
        """The roster with this holder added or, if it is known, with its new address and further devices.

        New devices get the next ids, in the order that a graph gives such names: by value if all in the request are
        integers. A known holder, removed or not, must list all devices that it had. It must have the same SuperNode
        key, or a request for a new key that the old one has signed. `new_keys` waives that signature: the operator has
        checked by other means that the new key is the same holder's.
        """
        # At most one, because all names differ.
        known = [holder for holder in self.holders if holder.name == request.name]
        for holder in self.holders:
            if holder in known:
                self._check_return(holder, request, new_keys)
            else:
                self._check_conflict(holder, request)
        kept = known[0].devices if known else ()
        fresh = _ranked(request.devices, without={self.names[i] for i in kept})
        ids = range(len(self.names), len(self.names) + len(fresh))
        # `removed` is False again: a holder that was removed returns with the ids that it had.
        holder = Holder(request.name, request.address, request.node_key, (*kept, *ids))
        holders = [holder if old in known else old for old in self.holders]
        return Roster(tuple(holders if known else [*holders, holder]), (*self.names, *fresh))

    def removed(self, name: str) -> "Roster":
        """The roster with this holder marked as removed; its vertices keep their ids."""
        marked = replace(self.holder(name), removed=True)
        return replace(self, holders=tuple(marked if old.name == name else old for old in self.holders))

    def owner(self) -> NDArray[np.int32]:
        """For each vertex the index of its holder in `holders`."""
        owner = np.empty(len(self.names), np.int32)
        for index, holder in enumerate(self.holders):
            owner[list(holder.devices)] = index
        return owner

    def holder(self, name: str) -> Holder:
        """The holder of this name."""
        for holder in self.holders:
            if holder.name == name:
                return holder
        there = ", ".join(holder.name for holder in self.holders[:20]) or "none yet"
        raise InputError(f"No holder is called {name[:60]!r}. The holders are: {there}.")

    def digest(self) -> str:
        """SHA-256 of the vertices and their holders, in hex. It changes only when vertices are added."""
        # Without addresses, keys and removals, so that a run can be resumed after they have changed.
        content = [self.names, [(holder.name, holder.devices) for holder in self.holders]]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()

    def names_json(self) -> bytes:
        """The vertices' names in the order of their ids, as a JSON list."""
        # Without spaces, because each roll call sends this to every holder.
        return json.dumps(self.names, ensure_ascii=False, separators=(",", ":")).encode()

    def save(self, path: Path) -> None:
        """Write the roster to a file, atomically."""
        try:
            write_private(path, json.dumps({"kind": KIND, **asdict(self)}, ensure_ascii=False, indent=1) + "\n")
        except RunFolderError as error:
            raise InputError(f"{path}: can't be written ({error.__cause__}). Fix the problem and try again.") from error

    @staticmethod
    def load(path: Path) -> "Roster":
        """Read a file that `save` wrote, and check that it is consistent."""
        try:
            return _read_roster(read_json(path, MAX_BYTES))
        except OSError as error:
            raise InputError(f"{path}: can't be read ({error.strerror}). Create a federation first.") from error
        except (ValueError, InputError) as error:
            raise InputError(
                f"{path}: isn't fedwalk's roster, or damaged ({error}). Restore it from a copy."
            ) from error

    def _check_return(self, holder: Holder, request: Request, new_keys: bool) -> None:
        """Refuse another party under a known name, and a holder that leaves out devices that it had."""
        if holder.node_key not in (request.node_key, request.replaces) and not new_keys:
            raise InputError(
                f"The name {holder.name!r} is taken by a holder whose SuperNode key hasn't signed this request. If it "
                "is the same holder, have it send its newest request, or make new keys with `fedwalk federate renew "
                "FOLDER`, which its old key signs. If that key is lost, compare the fingerprint by phone and admit "
                "with --new-keys, or remove the holder and have it enrol under another name."
            )
        devices = set(request.devices)
        for name in (self.names[i] for i in holder.devices):
            if name not in devices:
                raise InputError(
                    f"Device {name[:40]!r} was admitted with {holder.name!r} and isn't in the new request. "
                    "List all devices that the holder had; new ones can be added."
                )

    def _check_conflict(self, holder: Holder, request: Request) -> None:
        """Refuse a key, an address or a device that another holder has."""
        if holder.node_key == request.node_key:
            raise InputError(f"The SuperNode key is that of holder {holder.name!r}. Make keys for {request.name!r}.")
        # The key and the devices of a removed holder stay reserved; its address doesn't.
        taken = bool(holder.address) and not holder.removed
        if taken and holder.address.lower() == request.address.lower():
            raise InputError(f"The address {request.address} is that of holder {holder.name!r}. Take another port.")
        devices = set(request.devices)
        for name in (self.names[i] for i in holder.devices):
            if name in devices:
                raise InputError(
                    f"Device {name[:40]!r} is already held by {holder.name!r}. Leave it out, or rename it."
                )


def _ranked(devices: tuple[str, ...], without: set[str]) -> list[str]:
    """The devices without an id yet, in the order of `fedwalk.graph.names.rank_names`."""
    fresh = set(devices) - without
    # All devices of the request decide whether names are compared as integers, not only the new ones.
    return sorted(fresh, key=int) if all(map(is_integer, devices)) else sorted(fresh)


def _all_differ(what: str, values: list[str]) -> None:
    seen: set[str] = set()
    for value in values:
        if value in seen:
            raise InputError(f"Two holders have the same {what}: {value[:80]!r}.")
        seen.add(value)


def _read_roster(content: Any) -> Roster:
    """The roster in a parsed file, after checking the type of each field."""
    if not isinstance(content, dict) or content.keys() != {"kind", "holders", "names"} or content["kind"] != KIND:
        raise InputError("its fields aren't those of a roster, or another version wrote it")
    if not _is_list(content["names"], str) or not _is_list(content["holders"], dict):
        raise InputError("`names` must be a list of texts, `holders` a list of objects")
    check_devices(content["names"])
    return Roster(tuple(map(_read_holder, content["holders"])), tuple(content["names"]))


def _read_holder(content: dict[str, Any]) -> Holder:
    # `f.type` is a type here, not a text, because this module doesn't postpone annotations. JSON has no tuples.
    kinds = {f.name: list if f.name == "devices" else f.type for f in fields(Holder)}
    if content.keys() != kinds.keys() or any(type(content[name]) is not kind for name, kind in kinds.items()):
        raise InputError(f"A holder must have {', '.join(kinds)}")
    if not _is_list(content["devices"], int) or not content["devices"]:
        raise InputError(f"The devices of {content['name'][:60]!r} must be a list of ids, at least one")
    check_name(content["name"])
    if content["address"]:
        check_address(content["address"])
    read_node_key(content["node_key"])
    return Holder(**{**content, "devices": tuple(content["devices"])})


def _is_list(value: Any, of: type) -> bool:
    # Not isinstance: a bool would pass as an id.
    return isinstance(value, list) and all(type(item) is of for item in value)
