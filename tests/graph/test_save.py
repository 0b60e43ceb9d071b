"""Edge lists that are written: they read back as the same graph, or are refused."""

from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from fedwalk.errors import InputError
from fedwalk.graph import load_graph
from fedwalk.graph.save import save_edge_list


@pytest.mark.parametrize(
    "edges", [[(3, 1), (1, 2)], [("a 1", "2"), ("2", "b 3")], [("ann", "bob"), ("bob", "zoë"), ("zoë", "ann")]]
)
@pytest.mark.parametrize("weights", [None, [0.1, 1e-9, 7.0]])
def test_a_saved_graph_reads_back(
    tmp_path: Path, edges: list[tuple[object, object]], weights: list[float] | None
) -> None:
    source = nx.Graph()
    for number, (u, v) in enumerate(edges):
        source.add_edge(u, v, weight=weights[number] if weights else 1)
    graph = load_graph(source)
    assert (graph.weights is None) == (weights is None)
    save_edge_list(graph, tmp_path / "graph.edges")
    again = load_graph(tmp_path / "graph.edges").arranged(graph.names)
    assert again.fingerprint() == graph.fingerprint()


@pytest.mark.parametrize("name", ["#tag", "%x", " a", "a\tb", "a,b", 'a"b'])
def test_a_name_that_would_not_read_back_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="rename it"):
        save_edge_list(load_graph([(name, "b")]), tmp_path / "graph.edges")
    assert not list(tmp_path.iterdir())


def test_positions_stay_positions_in_an_array_of_edges() -> None:
    graph = load_graph(np.array([[2, 0], [0, 1], [1, 2]]), labels=["c0", "c1", "c2"])
    assert graph.labels is not None
    assert [(node, *graph.labels.of(v)) for v, node in enumerate(graph.nodes)] == [(0, "c0"), (1, "c1"), (2, "c2")]
