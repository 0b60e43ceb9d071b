"""A predictor of your own: jump to the bin in which the last vertex has most neighbours. It tests itself."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import fedwalk
from fedwalk.kernels.jit import kernel
from fedwalk.kernels.random import below
from fedwalk.protocols.paper.predictors import Broadcast, Predictor, register


class Tables(NamedTuple):
    """What every device computes from public values, once."""

    favourite: NDArray[np.int64]  # the bin in which each vertex has most neighbours
    starts: NDArray[np.int64]  # where each bin's vertices begin
    members: NDArray[np.int64]  # the vertices, bin by bin


def prepare(broadcast: Broadcast) -> Tables:
    """Make the tables from the group plan and the dictionary of degree vectors."""
    sizes = np.bincount(broadcast.plan, minlength=broadcast.vectors.shape[1])
    starts = np.concatenate([[0], np.cumsum(sizes)])
    return Tables(broadcast.vectors.argmax(axis=1), starts, np.argsort(broadcast.plan, kind="stable"))


@kernel
def extend(tables: Tables, neighbours: NDArray[np.int32], last: int, bits: np.uint64, more: np.uint64) -> int:
    """A uniform draw from that bin; −1 if it is `last` itself."""
    begin, end = tables.starts[tables.favourite[last]], tables.starts[tables.favourite[last] + 1]
    vertex = tables.members[begin + below(bits, end - begin)]
    return int(vertex) if vertex != last else -1


FAVOURITE = register(Predictor("favourite", min_remaining=3, prepare=prepare, extend=extend))

graph = fedwalk.social_network(vertices=100, mean_degree=8, communities=4, seed=0)


def make(**changes: Any) -> fedwalk.FedWalk:
    """A fitted model that uses the predictor."""
    model = fedwalk.FedWalk(
        predictor="favourite", predict=0.5, num_walks=2, walk_length=10, dim=8, threads=1, **changes
    )
    model.fit(graph)
    return model


def test_both_runtimes_walk_the_same_way() -> None:
    """The test that costs nothing and catches most mistakes."""
    fast, slow = make(), make(runtime="stepwise")
    assert fast.walks_.sequences.tobytes() == slow.walks_.sequences.tobytes()


def test_prediction_is_in_the_favourite_bin() -> None:
    """The test that says what this predictor is for."""
    model = make()
    tables = prepare(Broadcast(model.bins_, model.degree_vectors_, model.tree_))
    for u in range(graph.vertices):
        vertex = extend(tables, graph.neighbours(u), u, np.uint64(u << 57), np.uint64(0))
        assert vertex == -1 or model.bins_[vertex] == model.degree_vectors_[u].argmax()


if __name__ == "__main__":
    test_both_runtimes_walk_the_same_way()
    test_prediction_is_in_the_favourite_bin()
    print(f"favourite: {make().walks_.hops_per_walk:.2f} hops per walk of 10 entries")
