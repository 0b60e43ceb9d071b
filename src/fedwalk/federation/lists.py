"""A holder's own neighbour lists: by name as the owner wrote them, by id in the federation, by place in a run.

They never leave the holder.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import InputError, ProtocolError


@dataclass(frozen=True, slots=True)
class NamedLists:
    """Devices by name, and for each the names of its neighbours: distinct, and never its own."""

    devices: tuple[str, ...]
    neighbours: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        if len(self.devices) != len(self.neighbours):
            raise InputError(f"lists: {len(self.neighbours)} of them for {len(self.devices)} devices")
        if len(set(self.devices)) < len(self.devices):
            raise InputError("lists: a device has two of them")
        for device, names in self:
            if device in names or len(set(names)) < len(names):
                raise InputError(f"lists: device {device!r} has itself as a neighbour, or a neighbour twice")

    def __iter__(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        return zip(self.devices, self.neighbours, strict=True)


@dataclass(frozen=True, slots=True, eq=False)
class OwnLists:
    """The lists of the holder's participating devices, all by place: device devices[i] has row i of the CSR arrays.

    Parameters
    ----------
    devices
        Ascending.
    indptr, indices
        indices[indptr[i] : indptr[i + 1]] are the neighbours of devices[i], ascending, without the device itself.

    Examples
    --------
    >>> lists = OwnLists(np.int32([1, 4]), np.int64([0, 2, 3]), np.int32([0, 4, 1]))
    >>> lists.neighbours(0).tolist()
    [0, 4]
    """

    devices: NDArray[np.int32]
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]

    def __post_init__(self) -> None:
        _check("own lists", self.devices, self.indptr, self.indices)

    def neighbours(self, row: int) -> NDArray[np.int32]:
        """The list of device number `row` (a view)."""
        return self.indices[self.indptr[row] : self.indptr[row + 1]]


@dataclass(frozen=True, slots=True, eq=False)
class KnownLists:
    """The lists of the holder's devices by id, as far as the federation knows the names in them.

    Parameters
    ----------
    vertices
        How many ids the federation has given out.
    devices, indptr, indices
        As in `OwnLists`, by id.
    unknown
        How many neighbours were dropped because the federation doesn't have them.
    absent
        How many devices were, for the same reason.
    """

    vertices: int
    devices: NDArray[np.int32]
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    unknown: int = 0
    absent: int = 0

    def __post_init__(self) -> None:
        _check("known lists", self.devices, self.indptr, self.indices)
        if max(self.devices.max(initial=-1), self.indices.max(initial=-1)) >= self.vertices:
            raise InputError(f"known lists: an id beyond the federation's {self.vertices} vertices.")

    def neighbours(self, row: int) -> NDArray[np.int32]:
        """The list of device number `row` (a view)."""
        return self.indices[self.indptr[row] : self.indptr[row + 1]]

    def restrict(self, participants: NDArray[np.int32]) -> OwnLists:
        """The lists among the participants, by place."""
        check_participants("participants", participants, self.vertices)
        place = np.full(self.vertices, -1, np.int32)
        place[participants] = np.arange(participants.size, dtype=np.int32)
        devices, indices = place[self.devices], place[self.indices]
        keep = (indices >= 0) & (np.repeat(devices, np.diff(self.indptr)) >= 0)
        before = np.concatenate([[0], np.cumsum(keep)])[self.indptr]
        part = devices >= 0
        indptr = np.concatenate([[0], np.cumsum(np.diff(before)[part])]).astype(np.int64)
        return OwnLists(devices[part], indptr, indices[keep])


def resolve(named: NamedLists, names: list[str]) -> KnownLists:
    """The holder's lists by id, where names[id] is what the federation calls a vertex.

    >>> known = resolve(NamedLists(("eve", "ann"), (("bob",), ("zoe", "eve", "bob"))), ["ann", "bob", "eve"])
    >>> known.devices.tolist(), known.indptr.tolist(), known.indices.tolist(), known.unknown
    ([0, 2], [0, 2, 3], [1, 2, 1], 1)
    """
    ids = {name: i for i, name in enumerate(names)}
    rows = {ids[device]: [ids[u] for u in neighbours if u in ids] for device, neighbours in named if device in ids}
    listed = sum(len(neighbours) for device, neighbours in named if device in ids)
    devices = sorted(rows)
    indptr = np.cumsum([0, *(len(rows[v]) for v in devices)], dtype=np.int64)
    indices = np.array([u for v in devices for u in sorted(rows[v])], np.int32)
    unknown, absent = listed - indices.size, len(named.devices) - len(devices)
    return KnownLists(len(names), np.array(devices, np.int32), indptr, indices, unknown, absent)


def check_participants(where: str, participants: NDArray[np.int32], vertices: int) -> None:
    """Refuse participants that aren't ascending ids of the federation: the server says who they are."""
    if not participants.size or participants[0] < 0 or participants[-1] >= vertices:
        raise ProtocolError(f"{where}: must be ids from 0 to {vertices - 1}, at least one.")
    if (participants[1:] <= participants[:-1]).any():
        raise ProtocolError(f"{where}: must ascend, without repeats.")


def _check(what: str, devices: NDArray[np.int32], indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> None:
    """Refuse what isn't one ascending list of others for each of ascending devices."""
    if (devices < 0).any() or (np.diff(devices) <= 0).any():
        raise InputError(f"{what}: the devices must ascend, from 0 on, each once.")
    sizes = np.diff(indptr)
    fits = indptr.size == devices.size + 1 and indptr[0] == 0
    if not fits or (sizes < 0).any() or indptr[-1] != indices.size:
        raise InputError(f"{what}: indptr must rise from 0 to the number of neighbours, a step per device.")
    device = np.repeat(devices, sizes)
    unordered = (np.diff(indices) <= 0) & (np.diff(device) == 0)
    if (indices < 0).any() or (indices == device).any() or unordered.any():
        raise InputError(f"{what}: a device's neighbours must ascend, each once, without the device itself.")
