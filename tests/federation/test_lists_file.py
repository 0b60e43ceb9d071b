"""The holder's own file, and its names as ids and places."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedwalk.errors import InputError, ProtocolError
from fedwalk.federation.lists import KnownLists, NamedLists, OwnLists, resolve
from fedwalk.federation.lists_file import lists_of, read_lists, save_lists
from simulation import GRAPHS

NAMES = [f"v{i}" for i in range(8)]


def written(folder: Path, content: str) -> Path:
    path = folder / "lists.txt"
    path.write_text(content, encoding="utf-8")
    return path


def test_a_line_is_a_device_and_its_neighbours(tmp_path: Path) -> None:
    lists = read_lists(written(tmp_path, "# my phones\nann bob eve\n\n% more\neve\n"))
    assert lists == NamedLists(("ann", "eve"), (("bob", "eve"), ()))


@pytest.mark.parametrize("separator", [" ", "\t", ", ", ";"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_any_separator_and_line_end_of_an_adjacency_list_will_do(tmp_path: Path, separator: str, end: str) -> None:
    path = tmp_path / "lists.txt"
    path.write_bytes(end.join(separator.join(line) for line in (["ann", "bob", "Jörg"], ["Jörg", "ann"])).encode())
    assert read_lists(path) == NamedLists(("ann", "Jörg"), (("bob", "Jörg"), ("ann",)))


def test_the_file_may_be_gzipped(tmp_path: Path) -> None:
    path = tmp_path / "lists.txt.gz"
    path.write_bytes(gzip.compress(b"1 2 3\n"))
    assert read_lists(path) == NamedLists(("1",), (("2", "3"),))


def test_loops_and_repeats_are_dropped(tmp_path: Path) -> None:
    lists = read_lists(written(tmp_path, "ann bob ann eve bob\n"))
    assert lists == NamedLists(("ann",), (("bob", "eve"),))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("ann bob\n# ann\neve\nann eve\n", r"lists.txt, line 4: device 'ann' stands on line 1 already"),
        ("ann,bob\neve,,ann\n", r"lists.txt, line 2: an empty name"),
        ("# nothing\n", r"lists.txt, line 1: the file has no devices"),
        ("", r"the file has no devices"),
    ],
)
def test_a_file_that_is_wrong_is_refused_by_its_line(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_lists(written(tmp_path, content))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere.txt: no such file"):
        read_lists(tmp_path / "nowhere.txt")


@pytest.mark.parametrize("name", list(GRAPHS))
def test_what_is_saved_for_a_share_of_a_graph_is_read_back(tmp_path: Path, name: str) -> None:
    graph = GRAPHS[name]
    share = lists_of(graph, range(0, graph.vertices, 2))
    save_lists(tmp_path / "lists.txt", share)
    assert read_lists(tmp_path / "lists.txt") == share
    assert (tmp_path / "lists.txt").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", ["New York", "a,b", "a;b", "100%", 'so-called "x"', "-1"])
def test_odd_names_survive_being_saved(tmp_path: Path, name: str) -> None:
    lists = NamedLists((name, "ann"), (("ann", "bob"), (name,)))
    save_lists(tmp_path / "lists.txt", lists)
    assert read_lists(tmp_path / "lists.txt") == lists


@pytest.mark.parametrize("name", ["#1", "%", "a\tb", "a\nb", "a\rb", "", " a", "\ufeffa", "a\0b", "\ud800"])
def test_names_that_a_line_cannot_hold_are_refused_and_nothing_is_written(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="can't be told apart in a text file"):
        save_lists(tmp_path / "lists.txt", NamedLists((name,), (("ann",),)))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("devices", "neighbours"),
    [(("a",), ()), (("a", "a"), ((), ())), (("a",), (("a",),)), (("a",), (("b", "b"),))],
)
def test_lists_that_contradict_themselves_are_refused(
    devices: tuple[str, ...], neighbours: tuple[tuple[str, ...], ...]
) -> None:
    with pytest.raises(InputError, match="lists:"):
        NamedLists(devices, neighbours)


@st.composite
def named_lists(draw: st.DrawFn) -> NamedLists:
    everybody = [*NAMES, "stranger", "other"]
    devices = draw(st.lists(st.sampled_from(everybody), unique=True))
    others = (st.lists(st.sampled_from([u for u in everybody if u != v]), unique=True) for v in devices)
    return NamedLists(tuple(devices), tuple(tuple(draw(names)) for names in others))


def rows(lists: KnownLists | OwnLists) -> dict[int, list[int]]:
    return {int(v): lists.neighbours(i).tolist() for i, v in enumerate(lists.devices)}


@given(named_lists(), st.permutations(NAMES))
def test_names_become_ids_and_strangers_are_counted(named: NamedLists, names: list[str]) -> None:
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


@given(named_lists(), st.sets(st.integers(0, len(NAMES) - 1), min_size=1))
def test_lists_among_participants_are_by_place(named: NamedLists, participants: set[int]) -> None:
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
def test_participants_who_are_no_ascending_ids_are_refused(participants: list[int]) -> None:
    with pytest.raises(ProtocolError, match="participants: must"):
        resolve(NamedLists(("v1",), (("v2",),)), NAMES).restrict(np.array(participants, np.int32))


def test_an_id_beyond_the_federation_is_refused() -> None:
    with pytest.raises(InputError, match="beyond the federation's 2 vertices"):
        KnownLists(2, np.array([0], np.int32), np.array([0, 1]), np.array([2], np.int32))
