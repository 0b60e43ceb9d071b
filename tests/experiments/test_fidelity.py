"""The paper's wrong claims, as `fedwalk.experiments.fidelity` measures them on a small network."""

import pytest

from fedwalk.experiments import fidelity
from fedwalk.graph import load_graph, social_network
from fedwalk.graph.graph import Graph


def with_pendants(graph: Graph) -> Graph:
    """The graph with ten vertices of degree 1 attached."""
    n = graph.vertices
    edges = [[u, int(v)] for u in range(n) for v in graph.neighbours(u) if u < v]
    return load_graph([*edges, *([i, n + i] for i in range(10))])


@pytest.fixture(scope="module")
def evidence() -> fidelity.Evidence:
    return fidelity.gather(with_pendants(social_network(vertices=150, mean_degree=8, communities=3, seed=0)))


def finding(name: str, evidence: fidelity.Evidence) -> str:
    (row,) = getattr(fidelity, name)(evidence)
    return str(row[2])


def test_the_server_reads_every_edge_off_the_matrices(evidence: fidelity.Evidence) -> None:
    assert finding("row_matching", evidence) == "100.0% of them, 100.0% of its guesses right"


def test_one_dissimilarity_names_a_degree_1_victims_neighbour(evidence: fidelity.Evidence) -> None:
    assert finding("degree_one_victims", evidence).startswith("named for 100.0% of 1")


def test_first_entries_show_most_edges(evidence: fidelity.Evidence) -> None:
    assert float(finding("edges_in_first_entries", evidence).split("%")[0]) > 90


def test_measured_hops_stand_beside_both_formulas(evidence: fidelity.Evidence) -> None:
    rows = list(fidelity.theorem_2(evidence))
    assert [row[1] for row in rows] == ["39.000", "35.355", "32.306", "29.716", "27.490"]
    assert all(
        row[2].split()[0] == expected
        for row, expected in zip(rows, ("39.000", "35.537", "32.639", "30.178", "28.061"), strict=True)
    )


def test_every_finding_can_be_shown(evidence: fidelity.Evidence) -> None:
    for name in ("theorem_1", "encoder", "pool_neighbours"):
        assert finding(name, evidence)
