"""Two-hop neighbour predictors (Sec. 4.3) in one registry, one file each.

A device that triggers its predictor writes several entries in one visit (a burst) and hands the token to the last of
them: every entry after the first saves a hop. The predictor chooses which vertex comes next. It sees what every device
has received (`Broadcast`) and the neighbour list of the device that runs it, and nothing else.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import SettingsError
from fedwalk.protocols.paper.tree import Tree
from fedwalk.protocols.settings import REGISTERED


@dataclass(frozen=True, slots=True, eq=False)
class Broadcast:
    """What the server has sent to every device: the group plan, the dictionary and the tree."""

    plan: NDArray[np.int32]
    vectors: NDArray[np.float32]
    tree: Tree


@dataclass(frozen=True, slots=True)
class Predictor:
    """One way to choose the vertex after a neighbour without asking that neighbour.

    Parameters
    ----------
    name
        The name that `--predictor` accepts.
    min_remaining
        The smallest number of remaining entries at which a visit may trigger the predictor.
    prepare
        Broadcast → tables (a NamedTuple of arrays): computed once, from public values only.
    extend
        Kernel (tables, neighbours, last, bits, more_bits) → the vertex after `last`, or −1 for none.
        `neighbours` is the device's own neighbour list, ascending; the bits are two 64-bit draws.
    """

    name: str
    min_remaining: int
    prepare: Callable[[Broadcast], Any]
    extend: Callable[..., int]


_ADDED: dict[str, Predictor] = {}


def register(predictor: Predictor) -> Predictor:
    """Add a predictor to the registry; see docs/extending.md."""
    _ADDED[predictor.name] = predictor
    # Settings can't import this module, which belongs to one protocol.
    REGISTERED["predictor"].add(predictor.name)
    return predictor


def predictors() -> dict[str, Predictor]:
    """All predictors by name: the three built-in ones, then those registered."""
    # Imported here, because these modules import this one.
    from fedwalk.protocols.paper.predictors import degree, tree, triad

    return {p.name: p for p in (tree.PREDICTOR, degree.PREDICTOR, triad.PREDICTOR)} | _ADDED


def find_predictor(name: str) -> Predictor:
    """The predictor of that name, or a SettingsError that lists the names."""
    known = predictors()
    if name not in known:
        raise SettingsError(f"predictor = {name!r}: there is none of that name. Choose from {', '.join(known)}.")
    return known[name]
