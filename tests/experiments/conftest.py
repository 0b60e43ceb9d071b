"""A small network on which the experiments run whole."""

from pathlib import Path

import pytest

from fedwalk.experiments.setup import Setup
from fedwalk.graph import social_network
from fedwalk.graph.graph import edge_pairs


@pytest.fixture(scope="module")
def small() -> Setup:
    graph = social_network(vertices=150, mean_degree=8, communities=3, mixing=0.3, seed=5)
    return Setup(
        "Small & <generated>", graph, None, (0.2, 0.5), (0.2, 0.5), (2, 5), (1, 2), (0.5, 4.0), (0.0, 0.4),
        seeds=2, splits=2, threads=1,
    )  # fmt: skip


@pytest.fixture
def unlabelled(tmp_path: Path, small: Setup) -> tuple[Path, Path]:
    """A graph file without labels, and a file of labels."""
    names = small.graph.names.tolist()
    graph, labels = tmp_path / "graph.edges", tmp_path / "groups.txt"
    graph.write_text("".join(f"{names[u]} {names[v]}\n" for u, v in edge_pairs(small.graph)), encoding="utf-8")
    labels.write_text("".join(f"{name} {'ab'[i % 2]}\n" for i, name in enumerate(names)), encoding="utf-8")
    return graph, labels
