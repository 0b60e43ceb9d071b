"""Walks: visits counted piece by piece, hops beside their theory."""

from pathlib import Path

import numpy as np
import pytest

from fedwalk.errors import RunFolderError
from fedwalk.graph import Graph
from fedwalk.report import walks as module
from fedwalk.report.source import read_source
from fedwalk.report.walks import count_visits, visit_rows, visits_per_row, walk_section
from helpers.run_folders import embed, federated


def test_visits_are_counted_across_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK", 7)
    walks = np.random.default_rng(0).integers(0, 12, (40, 5)).astype(np.int32)
    assert np.array_equal(count_visits(walks, 13), np.bincount(walks.ravel(), minlength=13))


@pytest.mark.parametrize("entry", [-1, 3])
def test_an_entry_that_is_no_vertex_is_an_error(entry: int) -> None:
    with pytest.raises(RunFolderError, match="outside 0 … 2"):
        count_visits(np.array([[0, entry]], np.int32), 3)


def test_kept_walks_are_drawn_with_every_visit_in_a_column(network: Graph, tmp_path: Path) -> None:
    section = walk_section(read_source(embed(network, tmp_path, keep_walks=True)))
    assert [figure.caption.split()[0] for figure in section.figures] == ["Hops", "Number"]
    assert not section.absent
    assert "100.0% of the vertices were visited" in section.text[0]


def test_walks_that_were_not_kept_are_named_with_the_command_that_keeps_them(network: Graph, tmp_path: Path) -> None:
    section = walk_section(read_source(embed(network, tmp_path)))
    (absent,) = section.absent
    assert absent.command.startswith("fedwalk embed GRAPH -o again ")
    assert absent.command.endswith(" --keep-walks")


def test_a_federations_walks_are_counted_by_the_leaves_of_its_tree(network: Graph, tmp_path: Path) -> None:
    source = read_source(federated(network, tmp_path, lost=20))
    assert source.walks is not None
    assert np.array_equal(visits_per_row(source, source.walks), np.bincount(source.walks.ravel(), minlength=60)[20:])
    assert "100.0% of the vertices were visited" in walk_section(source).text[0]


def test_deepwalk_hands_nothing_on(network: Graph, tmp_path: Path) -> None:
    section = walk_section(read_source(embed(network, tmp_path, protocol="deepwalk")))
    assert section.figures == ()
    assert section.table is None


def test_vertices_without_a_visit_are_counted() -> None:
    assert dict(visit_rows(np.array([0, 4, 0, 1200])))["vertices never visited"] == "2"
    assert dict(visit_rows(np.array([0, 4, 0, 1200])))["most"] == "1,200"
