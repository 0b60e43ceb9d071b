"""A federation made from a graph: what its neighbour files can't hold."""

import warnings
from pathlib import Path

import numpy as np
import pytest

from fedwalk.errors import FedWalkWarning
from fedwalk.federation.deploy.local_federation import make_federation
from fedwalk.graph import Graph
from fedwalk.graph.build import from_edges


def graph_of(weights: list[float]) -> Graph:
    return from_edges(np.array([0, 1, 2]), np.array([1, 2, 3]), np.arange(4), weights=np.array(weights))


def test_weights_are_left_out_of_neighbour_files_and_one_warning_says_so(tmp_path: Path) -> None:
    with pytest.warns(FedWalkWarning, match="neighbour files don't hold") as caught:
        made = make_federation(tmp_path / "weighted", graph_of([1.0, 2.0, 0.5]), 2, seed=1)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plain = make_federation(tmp_path / "plain", graph_of([1.0, 1.0, 1.0]), 2, seed=1)
    for weighted, other in zip(made.holders, plain.holders, strict=True):
        assert (weighted.path / "neighbours.adj").read_text() == (other.path / "neighbours.adj").read_text()
