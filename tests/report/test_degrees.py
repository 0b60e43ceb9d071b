"""Degrees: the noised ones are exactly those of the run, and isolated vertices take no part."""

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from conftest import SETTINGS
from fedwalk.errors import FedWalkWarning
from fedwalk.estimators import FedWalk
from fedwalk.graph import Graph, load_graph
from fedwalk.protocols.paper.degree_vectors import estimated_degrees
from fedwalk.protocols.paper.protocol import seen_degrees
from fedwalk.report.degrees import degree_section, shares_from
from fedwalk.report.source import read_source
from helpers.run_folders import embed, rewrite


@pytest.mark.parametrize("runtime", ["local", "stepwise"])
def test_noised_degrees_are_those_of_the_run(network: Graph, runtime: str) -> None:
    model = FedWalk(**SETTINGS, epsilon=0.7, runtime=runtime)
    model.fit(network)
    again = seen_degrees(network, model.settings_)
    assert np.array_equal(again.degrees, estimated_degrees(model.degree_vectors_))


def test_isolated_vertices_are_left_out(tmp_path: Path) -> None:
    matrix = sparse.lil_array((9, 9))
    matrix[0, 1] = matrix[1, 2] = matrix[2, 0] = matrix[3, 4] = 1
    graph = load_graph(matrix + matrix.T)
    sparse.save_npz(tmp_path / "graph.npz", sparse.csr_array(matrix + matrix.T))
    with pytest.warns(FedWalkWarning, match="isolated"):
        run = embed(graph, tmp_path / "run", origin=tmp_path / "graph.npz")
    section = degree_section(read_source(run))
    assert section.table is not None
    assert section.table.rows[0][:2] == ("smallest", "1")
    assert "The mean degree is 1.6, the largest 2." in section.text[0]


def test_shares_fall_from_all_to_few() -> None:
    degrees = np.array([1.0, 1.0, 2.0, 10.0])
    assert shares_from(degrees, np.array([1, 2, 3, 10, 11])).tolist() == [1.0, 0.5, 0.25, 0.25, 0.0]


def test_noise_is_shown_for_the_papers_simulation_alone(network: Graph, network_file: Path, tmp_path: Path) -> None:
    paper = embed(network, tmp_path / "paper", origin=network_file)
    deepwalk = embed(network, tmp_path / "deepwalk", origin=network_file, protocol="deepwalk")
    heads = [section.table.head for run in (paper, deepwalk) if (section := degree_section(read_source(run))).table]
    assert heads == [("degree", "true", "noised"), ("degree", "true")]
    rewrite(paper, simulation=False)
    assert "noise" not in degree_section(read_source(paper)).text[0]
