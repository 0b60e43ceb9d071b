"""The neighbour file, and the translation of its names to ids and places."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedwalk.errors import InputError, ProtocolError
from fedwalk.federation.holder.neighbour_file import neighbours_of, read_neighbours, save_neighbours
from fedwalk.federation.holder.neighbour_lists import KnownNeighbours, NamedNeighbours, OwnNeighbours, resolve
from helpers.simulation import GRAPHS

NAMES = [f"v{i}" for i in range(8)]


def written(folder: Path, content: str) -> Path:
    path = folder / "neighbours.txt"
    path.write_text(content, encoding="utf-8")
    return path


def test_a_line_is_a_device_and_its_neighbours(tmp_path: Path) -> None:
    neighbours = read_neighbours(written(tmp_path, "# my phones\nann bob eve\n\n% more\neve\n"))
    assert neighbours == NamedNeighbours(("ann", "eve"), (("bob", "eve"), ()))


@pytest.mark.parametrize("separator", [" ", "\t", ", ", ";"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_any_separator_and_line_end_of_an_adjacency_list_will_do(tmp_path: Path, separator: str, end: str) -> None:
    path = tmp_path / "neighbours.txt"
    path.write_bytes(end.join(separator.join(line) for line in (["ann", "bob", "Jörg"], ["Jörg", "ann"])).encode())
    assert read_neighbours(path) == NamedNeighbours(("ann", "Jörg"), (("bob", "Jörg"), ("ann",)))


def test_the_file_may_be_gzipped(tmp_path: Path) -> None:
    path = tmp_path / "neighbours.txt.gz"
    path.write_bytes(gzip.compress(b"1 2 3\n"))
    assert read_neighbours(path) == NamedNeighbours(("1",), (("2", "3"),))


def test_loops_and_repeats_are_dropped(tmp_path: Path) -> None:
    neighbours = read_neighbours(written(tmp_path, "ann bob ann eve bob\n"))
    assert neighbours == NamedNeighbours(("ann",), (("bob", "eve"),))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("ann bob\n# ann\neve\nann eve\n", r"neighbours.txt, line 4: device 'ann' is already on line 1"),
        ("ann,bob\neve,,ann\n", r"neighbours.txt, line 2: an empty name"),
        ("# nothing\n", r"neighbours.txt, line 1: the file has no devices"),
        ("", r"the file has no devices"),
    ],
)
def test_the_refusal_of_a_wrong_file_names_the_line(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_neighbours(written(tmp_path, content))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere.txt: no such file"):
        read_neighbours(tmp_path / "nowhere.txt")


@pytest.mark.parametrize("name", list(GRAPHS))
def test_what_is_saved_for_a_share_of_a_graph_is_read_back(tmp_path: Path, name: str) -> None:
    graph = GRAPHS[name]
    share = neighbours_of(graph, range(0, graph.vertices, 2))
    save_neighbours(tmp_path / "neighbours.txt", share)
    assert read_neighbours(tmp_path / "neighbours.txt") == share
    assert (tmp_path / "neighbours.txt").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", ["New York", "a,b", "a;b", "100%", 'so-called "x"', "-1"])
def test_odd_names_survive_being_saved(tmp_path: Path, name: str) -> None:
    neighbours = NamedNeighbours((name, "ann"), (("ann", "bob"), (name,)))
    save_neighbours(tmp_path / "neighbours.txt", neighbours)
    assert read_neighbours(tmp_path / "neighbours.txt") == neighbours


@pytest.mark.parametrize("name", ["#1", "%", "a\tb", "a\nb", "a\rb", "", " a", "\ufeffa", "a\0b", "\ud800"])
def test_names_that_a_line_cannot_hold_are_refused_and_nothing_is_written(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="a text file can't represent"):
        save_neighbours(tmp_path / "neighbours.txt", NamedNeighbours((name,), (("ann",),)))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("devices", "neighbours"),
    [(("a",), ()), (("a", "a"), ((), ())), (("a",), (("a",),)), (("a",), (("b", "b"),))],
)
def test_contradictory_neighbours_are_refused(
    devices: tuple[str, ...], neighbours: tuple[tuple[str, ...], ...]
) -> None:
    with pytest.raises(InputError, match="neighbours:"):
        NamedNeighbours(devices, neighbours)


@st.composite
def named_neighbours(draw: st.DrawFn) -> NamedNeighbours:
    names = [*NAMES, "unknown", "other"]
    devices = draw(st.lists(st.sampled_from(names), unique=True))
    others = (st.lists(st.sampled_from([u for u in names if u != v]), unique=True) for v in devices)
    return NamedNeighbours(tuple(devices), tuple(tuple(draw(other)) for other in others))


def rows(neighbours: KnownNeighbours | OwnNeighbours) -> dict[int, list[int]]:
    return {int(v): neighbours.of(i).tolist() for i, v in enumerate(neighbours.devices)}


@given(named_neighbours(), st.permutations(NAMES))
def test_names_become_ids_and_unknown_names_are_counted(named: NamedNeighbours, names: list[str]) -> None:
    known = resolve(named, names)
    expected = {
        i: [j for j, other in enumerate(names) if other in dict(named)[name]]
        for i, name in enumerate(names)
        if name in named.devices
    }
    assert list(rows(known).items()) == list(expected.items())
    assert known.vertices == len(names)
    mine = [names_ for device, names_ in named if device in names]
    assert known.unknown == sum(name not in names for names_ in mine for name in names_)
    assert known.absent == sum(name not in names for name in named.devices)
    assert [str(known.devices.dtype), str(known.indptr.dtype), str(known.indices.dtype)] == ["int32", "int64", "int32"]


@given(named_neighbours(), st.sets(st.integers(0, len(NAMES) - 1), min_size=1))
def test_neighbours_among_participants_are_by_place(named: NamedNeighbours, participants: set[int]) -> None:
    known, ids = resolve(named, NAMES), sorted(participants)
    own = known.restrict(np.array(ids, np.int32))
    expected = {
        ids.index(v): [ids.index(u) for u in neighbours if u in ids]
        for v, neighbours in rows(known).items()
        if v in ids
    }
    assert list(rows(own).items()) == list(expected.items())
    assert [str(own.devices.dtype), str(own.indptr.dtype), str(own.indices.dtype)] == ["int32", "int64", "int32"]


@pytest.mark.parametrize("participants", [[], [-1, 3], [3, 8], [3, 2], [3, 3], [2, 9, 3]])
def test_participants_that_are_not_ascending_ids_are_refused(participants: list[int]) -> None:
    with pytest.raises(ProtocolError, match="participants: must"):
        resolve(NamedNeighbours(("v1",), (("v2",),)), NAMES).restrict(np.array(participants, np.int32))


def test_an_id_beyond_the_federation_is_refused() -> None:
    with pytest.raises(InputError, match="beyond the federation's 2 vertices"):
        KnownNeighbours(2, np.array([0], np.int32), np.array([0, 1]), np.array([2], np.int32))
