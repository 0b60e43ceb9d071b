"""Stage values that a user passes to `fit`, checked against the graph.

They may come from an earlier run. The run then uses them and doesn't compute these stages itself.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import InputError
from fedwalk.graph import Graph
from fedwalk.protocols.paper.stages import BINS, TREE, VECTORS
from fedwalk.protocols.paper.tree import Tree
from fedwalk.protocols.registry import find_protocol
from fedwalk.protocols.stages import WALKS, Stage
from fedwalk.protocols.walks import Walks
from fedwalk.run.execute import check_graph, participants
from fedwalk.settings import Settings

STAGE_OF: dict[str, Stage[Any]] = {"bins": BINS, "degree_vectors": VECTORS, "tree": TREE, "walks": WALKS}
"""The stage of each value that `fit` takes, by the name of its argument."""


def checked_stages(graph: Graph, settings: Settings, values: Mapping[str, Any]) -> dict[str, Any]:
    """The stage values that were passed in, checked against the graph."""
    check_graph(graph)
    given = {STAGE_OF[name].name: value for name, value in values.items() if value is not None}
    accepted = {stage.name for stage in find_protocol(settings.protocol).accepts}
    if refused := [name for name, stage in STAGE_OF.items() if stage.name in given.keys() - accepted]:
        raise InputError(
            f"{', '.join(refused)}: protocol {settings.protocol} takes no such values from outside. Let the run "
            "compute them."
        )
    if not given:
        return {}
    n = participants(graph, settings)[0].vertices
    num_bins = settings.resolve(n).num_bins or 1
    checks: dict[str, Callable[[Any], Any]] = {
        BINS.name: lambda value: _check_bins(value, n, num_bins),
        VECTORS.name: lambda value: _check_vectors(value, (n, num_bins)),
        TREE.name: lambda value: _check_tree(value, n),
        WALKS.name: lambda value: value if isinstance(value, Walks) else Walks(np.asarray(value), None),
    }
    return {name: checks[name](value) for name, value in given.items()}


def _check_bins(bins: Any, n: int, num_bins: int) -> NDArray[np.int32]:
    _check_shape("bins", np.asarray(bins), (n,))
    if not np.array_equal(np.unique(bins), np.arange(num_bins)):
        raise InputError(
            f"bins: must be whole numbers from 0 to {num_bins - 1}, each used. For another number of bins, set "
            "FedWalk(num_bins=K)."
        )
    return np.ascontiguousarray(bins, np.int32)


def _check_vectors(vectors: Any, shape: tuple[int, int]) -> NDArray[np.float32]:
    checked = np.ascontiguousarray(vectors, np.float32)
    _check_shape("degree_vectors", checked, shape)
    if not np.isfinite(checked).all():
        raise InputError("degree_vectors: contain a number that isn't finite.")
    return checked


def _check_tree(tree: Any, n: int) -> Tree:
    checked = tree if isinstance(tree, Tree) else Tree(np.asarray(tree))
    if checked.leaves != n:
        raise InputError(f"tree: has {checked.leaves} leaves, but {n} vertices take part.")
    return checked


def _check_shape(name: str, array: NDArray[Any], shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        raise InputError(f"{name}: expected the shape {shape}, one row per vertex that takes part; got {array.shape}.")
