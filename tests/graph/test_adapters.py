"""Graphs of other libraries: the same edges, weights, node order and nodes; no library is imported for another."""

import subprocess
import sys
from typing import Any

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from fedwalk.errors import FedWalkWarning, InputError
from fedwalk.graph import Graph, load_graph
from fedwalk.graph.adapters.arcs import from_arcs

Edges = dict[tuple[Any, Any], float]


numbers = st.integers(-9, 99)
texts = st.text("ab1é", min_size=1, max_size=3)
anything = st.one_of(numbers, texts, st.tuples(st.integers(0, 3)))


@st.composite
def networks(draw: st.DrawFn, node: st.SearchStrategy[Any] = anything) -> tuple[list[Any], Edges]:
    """Nodes in some order, isolated ones too, and weights of some pairs of them."""
    nodes: list[Any] = draw(st.lists(node, min_size=3, max_size=8, unique_by=str))
    pairs = [(u, v) for at, u in enumerate(nodes) for v in nodes[at + 1 :]]
    chosen = draw(st.lists(st.sampled_from(pairs), min_size=1, unique=True))
    return nodes, {pair: draw(st.integers(1, 40)) / 4 for pair in chosen}


def counted_networks() -> st.SearchStrategy[tuple[list[Any], Edges]]:
    """Networks with the nodes 0 … n−1."""

    def renamed(network: tuple[list[Any], Edges]) -> tuple[list[Any], Edges]:
        places = {node: place for place, node in enumerate(network[0])}
        return list(places.values()), {(places[u], places[v]): weight for (u, v), weight in network[1].items()}

    return networks(numbers).map(renamed)


def edges_of(graph: Graph) -> dict[frozenset[Any], float]:
    nodes = graph.nodes
    values = np.ones(len(graph.indices)) if graph.weights is None else graph.weights
    rows = np.repeat(np.arange(graph.vertices), graph.degrees)
    triples = zip(rows.tolist(), graph.indices.tolist(), values.tolist(), strict=True)
    return {frozenset((nodes[u], nodes[v])): weight for u, v, weight in triples}


def same(graph: Graph, nodes: list[Any], edges: Edges) -> None:
    assert graph.nodes == nodes
    assert list(map(type, graph.nodes)) == list(map(type, nodes))
    assert edges_of(graph) == {frozenset(pair): weight for pair, weight in edges.items()}


def mentioned(edges: Edges) -> list[Any]:
    return list(dict.fromkeys(end for pair in edges for end in pair))


@given(networks(), st.sampled_from([nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph]))
def test_networkx(network: tuple[list[Any], Edges], kind: Any) -> None:
    nodes, edges = network
    source = kind()
    source.add_nodes_from(nodes)
    source.add_weighted_edges_from((u, v, weight) for (u, v), weight in edges.items())
    if source.is_directed():
        with pytest.warns(FedWalkWarning, match="directed"):
            graph = load_graph(source)
    else:
        graph = load_graph(source)
    same(graph, nodes, edges)


@given(networks())
def test_igraph_with_names(network: tuple[list[Any], Edges]) -> None:
    nodes, edges = network
    places = {node: place for place, node in enumerate(nodes)}
    source = igraph.Graph(len(nodes), [(places[u], places[v]) for u, v in edges])
    source.vs["name"] = nodes
    source.es["weight"] = list(edges.values())
    same(load_graph(source), nodes, edges)


def test_igraph_without_names_and_with_a_chosen_weight() -> None:
    source = igraph.Graph(4, [(3, 1), (1, 0)])
    source.es["strength"] = [2.0, 3.0]
    same(load_graph(source, weight="strength"), [0, 1, 2, 3], {(3, 1): 2.0, (1, 0): 3.0})
    with pytest.raises(InputError, match=r"no edge attribute 'w'.*its attributes are: 'strength'"):
        load_graph(source, weight="w")
    source.es["strength"] = [2.0, -1]
    with pytest.raises(InputError, match="the edge 0 – 1 has the weight -1"):
        load_graph(source, weight="strength")
    with pytest.warns(FedWalkWarning, match="directed"):
        load_graph(igraph.Graph(2, [(0, 1)], directed=True))


@given(counted_networks(), st.sampled_from([np.array, sparse.csr_array, sparse.coo_matrix]))
def test_matrices(network: tuple[list[Any], Edges], kind: Any) -> None:
    nodes, edges = network
    dense = np.zeros((len(nodes), len(nodes)))
    for (u, v), weight in edges.items():
        dense[u, v] = dense[v, u] = weight
    same(load_graph(kind(dense)), nodes, edges)


@pytest.mark.parametrize("dtype", [bool, int, float, np.uint8])
def test_a_dense_matrix_of_any_numbers_is_an_adjacency_matrix(dtype: Any) -> None:
    path = np.diag(np.ones(3), 1) + np.diag(np.ones(3), -1)
    same(load_graph(path.astype(dtype)), [0, 1, 2, 3], {(0, 1): 1, (1, 2): 1, (2, 3): 1})


@given(counted_networks())
def test_edge_rows_and_an_edge_index_in_numpy(network: tuple[list[Any], Edges]) -> None:
    _, edges = network
    rows = np.array(list(edges))
    nodes = mentioned(edges)
    # Exactly 0 … n−1 are positions, whatever their order of appearance.
    nodes = sorted(nodes) if sorted(nodes) == list(range(len(nodes))) else nodes
    same(load_graph(rows), nodes, dict.fromkeys(edges, 1.0))
    if len(rows) > 2:
        same(load_graph(rows.T), list(range(rows.max() + 1)), dict.fromkeys(edges, 1.0))


def test_two_by_two_is_one_edge_per_row() -> None:
    same(load_graph(np.array([[0, 1], [2, 3]])), [0, 1, 2, 3], {(0, 1): 1, (2, 3): 1})


@given(st.one_of(networks(numbers), networks(texts)), st.sampled_from(["pandas", "polars", "pyarrow"]))
def test_data_frames(network: tuple[list[Any], Edges], library: str) -> None:
    _, edges = network
    columns = {
        "when": list(range(len(edges))),
        "target": [v for _, v in edges],
        "source": [u for u, _ in edges],
        "weight": list(edges.values()),
    }
    make: Any = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[library]
    same(load_graph(make(columns)), mentioned(edges), edges)
    renamed = make({name.replace("t", "x"): values for name, values in columns.items()})
    chosen = load_graph(renamed, source="source", target="xargex", weight="weighx")
    same(chosen, mentioned(edges), edges)
    assert chosen.notes[0] == "the column 'when' was ignored"


@pytest.mark.parametrize(
    ("frame", "problem"),
    [
        (pd.DataFrame({"source": ["a", None], "target": ["b", "c"]}), "row 1: no 'source'"),
        (pl.DataFrame({"source": ["a", None], "target": ["b", "c"]}), "row 1: no 'source'"),
        (pa.table({"source": ["a", None], "target": ["b", "c"]}), "row 1 has no 'source'"),
        (pd.DataFrame({"source": [1.0, 2.0], "target": [2, 3]}), "vertices of type float64"),
        (pd.DataFrame({"a": [1], "b": [2], "c": [3]}), "which of the columns 'a', 'b', 'c'"),
        (pd.DataFrame({"source": [], "target": []}), "no rows"),
        (pd.DataFrame({"source": [1], "target": [2], "weight": ["x"]}), "the column 'weight' is read as the weight"),
        (pd.DataFrame({"source": [1], "target": [2], "weight": [-1]}), "weight -1"),
        (pl.LazyFrame({"source": [1]}), "collect"),
        (pd.Series([1, 2]), "data frame with one edge per row"),
    ],
)
def test_frames_that_are_no_edges_are_refused(frame: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        load_graph(frame)


@given(networks(), st.booleans(), st.booleans())
def test_dictionaries_of_networkx(network: tuple[list[Any], Edges], lists: bool, one_sided: bool) -> None:
    nodes, edges = network
    source = nx.Graph()
    source.add_nodes_from(nodes)
    source.add_weighted_edges_from((u, v, weight) for (u, v), weight in edges.items())
    listed: dict[Any, Any] = nx.to_dict_of_lists(source) if lists else nx.to_dict_of_dicts(source)
    if one_sided:
        late = {pair[::-1] for pair in edges}
        keep = {u: [v for v in row if (u, v) not in late] for u, row in listed.items()}
        listed = keep if lists else {u: {v: listed[u][v] for v in row} for u, row in keep.items()}
    same(load_graph(listed), nodes, dict.fromkeys(edges, 1.0) if lists else edges)


def test_dictionaries_with_neighbours_that_are_no_keys_and_with_parallel_edges() -> None:
    same(load_graph({"b": {"a", "b"}, "c": ("a",)}), ["b", "c", "a"], {("a", "b"): 1, ("a", "c"): 1})
    multigraph = nx.MultiGraph()
    multigraph.add_weighted_edges_from([(1, 2, 2.0), (1, 2, 3.0), (2, 3, 1.0)])
    same(load_graph(nx.to_dict_of_dicts(multigraph)), [1, 2, 3], {(1, 2): 5.0, (2, 3): 1.0})
    same(load_graph({1: {2: 0.5}, 2: {1: 0.5, 3: 2}}), [1, 2, 3], {(1, 2): 0.5, (2, 3): 2.0})
    with pytest.warns(FedWalkWarning, match="directed"):
        same(load_graph({1: {2: 1.0}, 2: {1: 2.0}}), [1, 2], {(1, 2): 3.0})


@given(counted_networks(), st.booleans())
def test_pyg(network: tuple[list[Any], Edges], both: bool) -> None:
    torch = pytest.importorskip("torch", exc_type=ImportError, reason="needs PyTorch and PyTorch Geometric")
    data = pytest.importorskip("torch_geometric.data", exc_type=ImportError, reason="needs PyTorch Geometric")
    nodes, edges = network
    pairs = [*edges, *(pair[::-1] for pair in edges)] if both else list(edges)
    weights = [*edges.values()] * (2 if both else 1)
    index = torch.tensor(pairs).t().contiguous()
    source = data.Data(edge_index=index, edge_weight=torch.tensor(weights), num_nodes=len(nodes))
    same(load_graph(source), nodes, edges)
    same(load_graph(index), list(range(int(index.max()) + 1)), dict.fromkeys(edges, 1.0))
    source.y = torch.arange(len(nodes)) % 2
    labels = load_graph(source, labels="attribute:y").labels
    assert labels is not None
    assert [labels.of(vertex) for vertex in nodes] == [(str(vertex % 2),) for vertex in nodes]


def test_tensors_that_are_no_edge_index_are_refused() -> None:
    torch = pytest.importorskip("torch", exc_type=ImportError, reason="needs PyTorch")
    with pytest.raises(InputError, match=r"shape \(5, 2\); transpose it"):
        load_graph(torch.zeros((5, 2), dtype=torch.int64))
    with pytest.raises(InputError, match="holds integers"):
        load_graph(torch.zeros((2, 5)))
    with pytest.warns(FedWalkWarning, match="directed"):
        load_graph(torch.tensor([[0, 1, 1], [1, 0, 2]]))


def test_pyg_with_several_types_is_refused() -> None:
    data = pytest.importorskip("torch_geometric.data", exc_type=ImportError, reason="needs PyTorch Geometric")
    with pytest.raises(InputError, match="to_homogeneous"):
        load_graph(data.HeteroData())


@given(counted_networks())
def test_dgl(network: tuple[list[Any], Edges]) -> None:
    dgl = pytest.importorskip("dgl", exc_type=ImportError, reason="needs DGL")
    torch = pytest.importorskip("torch", exc_type=ImportError, reason="needs PyTorch")
    nodes, edges = network
    source = dgl.graph(([u for u, _ in edges], [v for _, v in edges]), num_nodes=len(nodes))
    source.edata["weight"] = torch.tensor(list(edges.values()))
    same(load_graph(source), nodes, edges)


def test_no_library_is_imported_for_an_object_of_another() -> None:
    code = """
import sys, numpy, fedwalk
fedwalk.load_graph(numpy.array([[0, 1], [1, 2]]))
fedwalk.load_graph({0: [1]}, labels={0: "a"})
fedwalk.load_graph([("a", "b")])
heavy = {"networkx", "igraph", "torch", "torch_geometric", "dgl", "pandas", "polars", "pyarrow", "zstandard"}
print(sorted(heavy & sys.modules.keys()))
"""
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert printed.stdout.strip() == "[]"


def test_a_subclass_is_read_like_its_base() -> None:
    # Made with type(): neither library has types from which a class statement could derive.
    road: Any = type("Road", (igraph.Graph,), {})
    roads: Any = type("Roads", (pd.DataFrame,), {})
    assert load_graph(road(2, [(0, 1)])).edges == 1
    assert load_graph(roads({"from": [1], "to": [2]})).edges == 1


@pytest.mark.parametrize("choice", [{"weight": "w"}, {"source": "a", "target": "b"}, {"labels": "attribute:a"}])
def test_choices_that_an_object_cannot_follow_are_refused(choice: dict[str, str]) -> None:
    with pytest.raises(InputError):
        load_graph([(1, 2)], **choice)
    with pytest.raises(InputError):
        load_graph(load_graph([(1, 2)]), **choice)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_table_of_edges_has_no_labels(kind: Any) -> None:
    with pytest.raises(InputError, match="'club', but a table of edges has no node attributes"):
        load_graph(kind({"source": [1, 2], "target": [2, 3]}), labels="attribute:club")


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_an_end_of_the_edges_is_no_weight(kind: Any) -> None:
    with pytest.raises(InputError, match=r"'source' \(--weight\) has one end of the edges"):
        load_graph(kind({"source": [1, 2], "target": [2, 3]}), weight="source")


@pytest.mark.parametrize("source", [{"a": {"b": {"weight": 5}}}, {"a": {"b": 5}}, {"a": ["b"]}])
def test_a_weight_that_no_edge_of_a_dictionary_has_is_refused(source: Any) -> None:
    with pytest.raises(InputError, match="no edge of the dictionary has the attribute 'wieght'"):
        load_graph(source, weight="wieght")


def test_the_chosen_weight_of_parallel_edges_in_a_dictionary() -> None:
    graph = load_graph({"a": {"b": {0: {"cost": 2}, 1: {"cost": 3}}}}, weight="cost")
    assert edges_of(graph) == {frozenset("ab"): 5}


@pytest.mark.parametrize("digits", [400, 5000])
def test_a_weight_beyond_the_numbers_is_refused(digits: int) -> None:
    with pytest.raises(InputError, match="expected a finite number"):
        load_graph({"a": {"b": 10**digits}})


def test_half_of_a_surrogate_pair_is_no_name() -> None:
    with pytest.raises(InputError, match="half of a surrogate pair"):
        load_graph([("a", "\ud800")])


def test_an_edge_index_with_far_more_vertices_than_edges_is_refused() -> None:
    ends = np.array([0, 1])
    with pytest.raises(InputError, match="2,000,000,000 vertices, but only 2 entries"):
        from_arcs(ends, ends[::-1], 2_000_000_000)
    assert from_arcs(ends, ends[::-1], 1000).isolated == 998


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_weights_that_are_no_numbers_are_named_with_what_to_do(kind: Any) -> None:
    table = kind({"source": [1, 2], "target": [2, 3], "value": ["low", "high"]})
    with pytest.raises(InputError, match=r"the column 'value' is read as the weight.*choose another column"):
        load_graph(table)
