"""Two-hop neighbour predictors (Sec. 4.3) behind one registry: a predictor is one file.

A device that triggers its predictor writes several entries in one visit, a burst, and hands the token to the
last of them; every entry beyond the first saves a hop. A predictor says which vertex comes next.
It is given what every device has received (`Broadcast`) and the visiting device's own list, nothing else.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import SettingsError
from fedwalk.protocol.tree import Tree


@dataclass(frozen=True, slots=True, eq=False)
class Broadcast:
    """What the server has sent to every device: the group plan, the dictionary and the tree."""

    plan: NDArray[np.int32]
    vectors: NDArray[np.float32]
    tree: Tree


@dataclass(frozen=True, slots=True)
class Predictor:
    """One way to guess where a walk goes next.

    Parameters
    ----------
    name
        What `--predictor` calls it.
    least
        The smallest number of remaining entries at which a visit may trigger.
    prepare
        Broadcast → tables (a NamedTuple of arrays): work done once, from public values only.
    extend
        Kernel (tables, neighbours, last, bits, more_bits) → the vertex after `last`, or −1 for none.
        `neighbours` is the visiting device's own list, ascending; the bits are two 64-bit draws.
    """

    name: str
    least: int
    prepare: Callable[[Broadcast], Any]
    extend: Callable[..., int]


_ADDED: dict[str, Predictor] = {}


def register(predictor: Predictor) -> Predictor:
    """Make a predictor of your own known by its name; see docs/extending.md."""
    _ADDED[predictor.name] = predictor
    return predictor


def predictors() -> dict[str, Predictor]:
    """All predictors by name: the three built in, then those registered."""
    from fedwalk.protocol.predictor import degree, tree, triad

    return {p.name: p for p in (tree.PREDICTOR, degree.PREDICTOR, triad.PREDICTOR)} | _ADDED


def find_predictor(name: str) -> Predictor:
    """The predictor of that name, or an error that lists them."""
    known = predictors()
    if name not in known:
        raise SettingsError(f"predictor = {name!r}: there is none of that name. Choose from {', '.join(known)}.")
    return known[name]
