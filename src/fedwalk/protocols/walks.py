"""Finished walks, of any protocol."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import InputError


@dataclass(frozen=True, slots=True, eq=False)
class Walks:
    """Finished walks, one per row, and the number of messages between devices, if known.

    Walk w started at vertex w mod n. Whether the start is also its first entry depends on the protocol: it is in
    `deepwalk` and `ldp`, and it isn't in `paper`.
    """

    sequences: NDArray[np.int32]
    hops: int | None

    def __post_init__(self) -> None:
        if self.sequences.ndim != 2:
            raise InputError(f"walks: expected a 2-D array, one walk per row; got {self.sequences.ndim}-D.")

    @property
    def hops_per_walk(self) -> float:
        """Mean number of times that a walk was sent to another device; NaN if unknown."""
        return np.nan if self.hops is None else self.hops / max(1, len(self.sequences))
