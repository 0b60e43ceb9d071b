"""Stages: the steps of a run. The value of each can be stored, inspected and passed in again.

A protocol declares each of its stages once, with the files that hold its value (`paper/stages.py`, `ldp/stages.py`).
Those that several protocols share are here. `run/stages.py` runs, times and stores them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from fedwalk.protocols.transcript import Transcript
from fedwalk.protocols.walks import Walks
from fedwalk.util.parallel import Progress

T = TypeVar("T")
Vectors = NDArray[np.float32]
Content = NDArray[Any] | dict[str, NDArray[Any]]
"""The content of a file: one array (.npy), or several by name (.npz)."""


@dataclass(frozen=True, slots=True)
class Stage(Generic[T]):
    """One step of a run, and how its value is stored between two attempts.

    Parameters
    ----------
    name
        Its name in progress bars and `run.json`.
    files
        The files that hold the value: `.npy` for one array, `.npz` for several by name.
    pack
        The content of each file for a value.
    unpack
        The value for the content of each file; a `.npy` file is passed as a read-only memory-mapped array.
    """

    name: str
    files: tuple[str, ...]
    pack: Callable[[T], dict[str, Content]]
    unpack: Callable[[Mapping[str, Any]], T]


class Stages(Protocol):
    """What a protocol uses of the runner of its stages (`run.stages.StageRunner`)."""

    @property
    def transcript(self) -> Transcript:
        """Where messages are counted."""
        ...

    def has(self, stage: Stage[Any]) -> bool:
        """Whether the value is available without computing it."""
        ...

    def get(self, stage: Stage[T]) -> T:
        """The value of an available stage."""
        ...

    def run(self, stage: Stage[T], compute: Callable[[Progress], T], *, keep: bool = True) -> T:
        """The stage's value: passed in, stored, or computed now; with `keep=False` only its account is stored."""
        ...

    def drop(self, stage: Stage[Any]) -> None:
        """Free the memory of a value that no later stage needs."""
        ...


def file_stage(name: str, suffix: str, pack: Callable[[T], Content], unpack: Callable[[Any], T]) -> Stage[T]:
    """A stage whose value is stored in one file, named like the stage: `.npy` or `.npz`."""
    file = f"{name}{suffix}"
    return Stage(name, (file,), lambda value: {file: pack(value)}, lambda files: unpack(files[file]))


def array_stage(name: str) -> Stage[NDArray[Any]]:
    """A stage whose value is one array."""
    return file_stage(name, ".npy", lambda array: array, np.array)


def arrays_stage(name: str, make: Callable[..., T], fields: tuple[str, ...]) -> Stage[T]:
    """A stage whose value is made of several arrays: `make(**arrays)`, each an attribute of the value."""
    return file_stage(
        name,
        ".npz",
        lambda value: {field: getattr(value, field) for field in fields},
        lambda arrays: make(**arrays),
    )


_SEQUENCES, _HOPS = "walks.npy", "hops.npy"
# In a file of their own, sequences can be memory-mapped.
WALKS: Stage[Walks] = Stage(
    "walks",
    (_SEQUENCES, _HOPS),
    lambda walks: {_HOPS: np.array(walks.hops), _SEQUENCES: walks.sequences},
    lambda files: Walks(files[_SEQUENCES], int(files[_HOPS])),
)
SKIPGRAM: Stage[Vectors] = array_stage("skipgram")
SPECTRAL: Stage[Vectors] = array_stage("spectral")
