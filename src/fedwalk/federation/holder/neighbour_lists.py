"""A holder's neighbour lists in three numberings. They never leave the holder.

`NamedNeighbours` are by name, as in the owner's file. `KnownNeighbours` are by id, which the federation gives to each
name once and forever. `OwnNeighbours` are by place among the participants of a run.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import InputError, ProtocolError


@dataclass(frozen=True, slots=True)
class NamedNeighbours:
    """Devices by name, and for each the distinct names of its neighbours, without its own."""

    devices: tuple[str, ...]
    neighbours: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        if len(self.devices) != len(self.neighbours):
            raise InputError(f"neighbours: {len(self.neighbours)} neighbour lists for {len(self.devices)} devices")
        if len(set(self.devices)) < len(self.devices):
            raise InputError("neighbours: a device has two neighbour lists")
        for device, names in self:
            if device in names or len(set(names)) < len(names):
                raise InputError(f"neighbours: device {device!r} has itself as a neighbour, or a neighbour twice")

    def __iter__(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        return zip(self.devices, self.neighbours, strict=True)


@dataclass(frozen=True, slots=True, eq=False)
class OwnNeighbours:
    """The neighbour lists of a holder's participating devices by place, in CSR form: devices[i] has row i.

    Parameters
    ----------
    devices
        The places of the devices, ascending.
    indptr, indices
        indices[indptr[i] : indptr[i + 1]] are the neighbours of devices[i], ascending, without the device itself.

    Examples
    --------
    >>> neighbours = OwnNeighbours(np.int32([1, 4]), np.int64([0, 2, 3]), np.int32([0, 4, 1]))
    >>> neighbours.of(0).tolist()
    [0, 4]
    """

    devices: NDArray[np.int32]
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]

    def __post_init__(self) -> None:
        _check("own neighbours", self.devices, self.indptr, self.indices)

    def of(self, row: int) -> NDArray[np.int32]:
        """The neighbours of devices[row] (a view)."""
        return self.indices[self.indptr[row] : self.indptr[row + 1]]


@dataclass(frozen=True, slots=True, eq=False)
class KnownNeighbours:
    """The neighbour lists of a holder's devices by id, without the names that the federation doesn't know.

    Parameters
    ----------
    vertices
        The number of ids that the federation has given out.
    devices, indptr, indices
        As in `OwnNeighbours`, by id.
    unknown
        The number of neighbours that were dropped because they aren't in the federation.
    absent
        The number of devices that were dropped for the same reason.
    """

    vertices: int
    devices: NDArray[np.int32]
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    unknown: int = 0
    absent: int = 0

    def __post_init__(self) -> None:
        _check("known neighbours", self.devices, self.indptr, self.indices)
        # A holder may have no device or no neighbour in the federation, so the maxima need an initial value.
        if max(self.devices.max(initial=-1), self.indices.max(initial=-1)) >= self.vertices:
            raise InputError(f"known neighbours: an id is beyond the federation's {self.vertices} vertices.")

    def of(self, row: int) -> NDArray[np.int32]:
        """The neighbours of devices[row] (a view)."""
        return self.indices[self.indptr[row] : self.indptr[row + 1]]

    def restrict(self, participants: NDArray[np.int32]) -> OwnNeighbours:
        """The neighbour lists among the participants, by place."""
        check_participants("participants", participants, self.vertices)
        # place[id] is −1 for a vertex that doesn't take part. Participants ascend, so rows stay sorted by place.
        place = np.full(self.vertices, -1, np.int32)
        place[participants] = np.arange(participants.size, dtype=np.int32)
        devices, indices = place[self.devices], place[self.indices]
        # Drop the neighbours that don't take part, and all neighbours of devices that don't.
        keep = (indices >= 0) & (np.repeat(devices, np.diff(self.indptr)) >= 0)
        # before[i] is the number of kept neighbours in front of row i.
        before = np.concatenate([[0], np.cumsum(keep)])[self.indptr]
        part = devices >= 0
        indptr = np.concatenate([[0], np.cumsum(np.diff(before)[part])]).astype(np.int64)
        return OwnNeighbours(devices[part], indptr, indices[keep])


def resolve(named: NamedNeighbours, names: list[str]) -> KnownNeighbours:
    """Translate neighbour lists from names to ids, where names[id] is the federation's name of a vertex.

    >>> known = resolve(NamedNeighbours(("eve", "ann"), (("bob",), ("zoe", "eve", "bob"))), ["ann", "bob", "eve"])
    >>> known.devices.tolist(), known.indptr.tolist(), known.indices.tolist(), known.unknown
    ([0, 2], [0, 2, 3], [1, 2, 1], 1)
    """
    ids = {name: i for i, name in enumerate(names)}
    rows = {ids[device]: [ids[u] for u in neighbours if u in ids] for device, neighbours in named if device in ids}
    # Neighbours of absent devices aren't counted as unknown: the whole device is counted as absent.
    listed = sum(len(neighbours) for device, neighbours in named if device in ids)
    devices = sorted(rows)
    indptr = np.cumsum([0, *(len(rows[v]) for v in devices)], dtype=np.int64)
    indices = np.array([u for v in devices for u in sorted(rows[v])], np.int32)
    unknown, absent = listed - indices.size, len(named.devices) - len(devices)
    return KnownNeighbours(len(names), np.array(devices, np.int32), indptr, indices, unknown, absent)


def check_participants(where: str, participants: NDArray[np.int32], vertices: int) -> None:
    """Refuse participants that aren't ascending ids of the federation: they come from the server."""
    # The first and the last id bound all others, because the next check requires ascending order.
    if not participants.size or participants[0] < 0 or participants[-1] >= vertices:
        raise ProtocolError(f"{where}: must be ids from 0 to {vertices - 1}, at least one.")
    if (participants[1:] <= participants[:-1]).any():
        raise ProtocolError(f"{where}: must ascend, without repeats.")


def _check(what: str, devices: NDArray[np.int32], indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> None:
    """Refuse CSR arrays that aren't an ascending list of other vertices for each of some ascending devices."""
    if (devices < 0).any() or (np.diff(devices) <= 0).any():
        raise InputError(f"{what}: the devices must be at least 0 and ascend, without repeats.")
    sizes = np.diff(indptr)
    fits = indptr.size == devices.size + 1 and indptr[0] == 0
    if not fits or (sizes < 0).any() or indptr[-1] != indices.size:
        raise InputError(f"{what}: indptr must rise from 0 to the number of neighbours, with one step per device.")
    device = np.repeat(devices, sizes)
    # A row may begin with a smaller id than the previous row's last, so only pairs within a row are compared.
    unordered = (np.diff(indices) <= 0) & (np.diff(device) == 0)
    if (indices < 0).any() or (indices == device).any() or unordered.any():
        raise InputError(f"{what}: a device's neighbours must ascend, without repeats and without the device itself.")
