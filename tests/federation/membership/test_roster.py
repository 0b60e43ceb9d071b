"""The roster: ids never change their device, and no holder can take the place of another."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedwalk.errors import InputError
from fedwalk.federation.membership.keys import new_node_key, new_tls_key
from fedwalk.federation.membership.requests import Request, holder_request, read_request
from fedwalk.federation.membership.roster import Holder, Roster
from fedwalk.graph.names import rank_names


@cache
def keys(name: str) -> Request:
    return read_request(holder_request(name, f"{name}:7443", ["?"], new_tls_key(), new_node_key()))


def asks(name: str, *devices: str, **changes: str) -> Request:
    """A request with the keys that the holder always had."""
    return replace(keys(name), devices=devices, **changes)


@pytest.fixture
def roster() -> Roster:
    """Clinic has 0 (ada), 1 (bob), 2 (cay); ward has 3 (9), 4 (10)."""
    return Roster().admitted(asks("clinic", "cay", "ada", "bob")).admitted(asks("ward", "10", "9"))


def test_ids_follow_admission_and_within_a_request_the_order_of_a_graphs_names(roster: Roster) -> None:
    assert roster.names == ("ada", "bob", "cay", "9", "10")
    assert [holder.devices for holder in roster.holders] == [(0, 1, 2), (3, 4)]
    assert roster.owner().tolist() == [0, 0, 0, 1, 1]
    assert roster.owner().dtype == np.int32


@given(st.sets(st.integers(-99, 99).map(str) | st.text("aé7-", min_size=1), min_size=1))
def test_one_request_is_ordered_like_a_graph_of_its_names(devices: set[str]) -> None:
    names, _ = rank_names(sorted(devices), "test")
    assert Roster().admitted(asks("clinic", *devices)).names == tuple(map(str, names))


def test_a_graph_split_into_blocks_gets_its_own_ids() -> None:
    names = [str(i) for i in range(5, 25)]
    roster = Roster()
    for name, block in (("a", names[:9]), ("b", names[9:12]), ("c", names[12:])):
        roster = roster.admitted(asks(name, *reversed(block)))
    assert list(roster.names) == names


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[str, set[int] | None]]:
    """Holders who come with devices, come back with more of them, and go (None)."""
    step = st.tuples(st.sampled_from("abc"), st.none() | st.sets(st.integers(0, 9), min_size=1))
    return draw(st.lists(step, max_size=12))


@given(histories())
def test_an_id_once_given_never_changes(history: list[tuple[str, set[int] | None]]) -> None:
    roster, had = Roster(), dict[str, set[str]]()
    for name, numbers in history:
        before = roster
        if numbers is not None:
            had[name] = had.get(name, set()) | {f"{name}{number}" for number in numbers}
            roster = roster.admitted(asks(name, *had[name]))
        elif name in had:
            roster = roster.removed(name)
        known = len(before.names)
        assert roster.names[:known] == before.names
        assert np.array_equal(roster.owner()[:known], before.owner())
        assert [holder.name for holder in roster.holders][: len(before.holders)] == [h.name for h in before.holders]
    for name, devices in had.items():
        assert {roster.names[i] for i in roster.holder(name).devices} == devices


def test_a_holder_comes_back_with_its_ids_a_new_address_and_more_devices(roster: Roster) -> None:
    back = roster.removed("clinic").admitted(asks("clinic", "bob", "zoë", "ada", "cay", "11", address="elsewhere:1"))
    assert back.names == (*roster.names, "11", "zoë")
    assert back.holder("clinic") == Holder("clinic", "elsewhere:1", keys("clinic").node_key, (0, 1, 2, 5, 6))
    assert back.holder("ward") == roster.holder("ward")


def test_renewing_without_a_change_changes_nothing(roster: Roster) -> None:
    assert roster.admitted(asks("ward", "9", "10")) == roster


def test_another_key_can_not_take_a_known_name(roster: Roster) -> None:
    stranger = replace(asks("clinic", "ada", "bob", "cay"), node_key=keys("mallory").node_key)
    for there in (roster, roster.removed("clinic")):
        with pytest.raises(InputError, match="name 'clinic' is taken"):
            there.admitted(stranger)


def test_a_holder_can_not_leave_out_a_device_that_it_had(roster: Roster) -> None:
    with pytest.raises(InputError, match="'bob' was admitted with 'clinic'"):
        roster.admitted(asks("clinic", "ada", "cay", "dan"))


def test_a_device_has_one_holder_and_the_error_names_it(roster: Roster) -> None:
    for there in (roster, roster.removed("clinic")):
        with pytest.raises(InputError, match="'bob' is already held by 'clinic'"):
            there.admitted(asks("mallory", "eve", "bob"))
        with pytest.raises(InputError, match="'bob' is already held by 'clinic'"):
            there.admitted(asks("ward", "9", "10", "bob"))


def test_an_address_has_one_holder_until_that_is_removed(roster: Roster) -> None:
    newcomer = asks("newcomer", "eve", address="CLINIC:7443")
    with pytest.raises(InputError, match="is that of holder 'clinic'"):
        roster.admitted(newcomer)
    after = roster.removed("clinic").admitted(newcomer)
    with pytest.raises(InputError, match="is that of holder 'newcomer'"):
        after.admitted(asks("clinic", "ada", "bob", "cay"))


def test_holders_without_an_address_do_not_conflict(roster: Roster, tmp_path: Path) -> None:
    for name, device in (("home", "eve"), ("farm", "fay")):
        roster = roster.admitted(asks(name, device, address=""))
    roster.save(tmp_path / "roster.json")
    assert Roster.load(tmp_path / "roster.json") == roster
    assert roster.admitted(asks("home", "eve", address="home:1")).holder("home").address == "home:1"


def test_a_supernode_key_has_one_holder(roster: Roster) -> None:
    with pytest.raises(InputError, match="that of holder 'clinic'"):
        roster.admitted(replace(asks("newcomer", "eve"), node_key=keys("clinic").node_key))


def test_removing_marks_only_that_holder(roster: Roster) -> None:
    after = roster.removed("clinic")
    assert [holder.removed for holder in after.holders] == [True, False]
    assert after.removed("clinic") == after
    with pytest.raises(InputError, match=r"No holder is called 'mallory'. The holders are: clinic, ward"):
        roster.removed("mallory")


def test_the_digest_depends_on_the_vertices_and_their_holders(roster: Roster) -> None:
    moved = roster.admitted(asks("ward", "9", "10", address="elsewhere:1"))
    assert len(roster.digest()) == 64
    assert roster.digest() == roster.removed("ward").digest() == moved.digest()
    assert roster.digest() != roster.admitted(asks("ward", "9", "10", "11")).digest()
    swapped = Roster().admitted(asks("ward", "cay", "ada", "bob")).admitted(asks("clinic", "10", "9"))
    assert swapped.names == roster.names
    assert swapped.digest() != roster.digest()


def test_the_names_travel_as_json(roster: Roster) -> None:
    grown = roster.admitted(asks("home", "Zoë 😀"))
    assert json.loads(grown.names_json()) == list(grown.names)


def test_a_saved_roster_is_loaded_unchanged(roster: Roster, tmp_path: Path) -> None:
    path = tmp_path / "roster.json"
    for state in (Roster(), roster, roster.removed("ward").admitted(asks("home", "Zoë 😀"))):
        state.save(path)
        assert Roster.load(path) == state
    assert list(tmp_path.iterdir()) == [path]


def spoilt(content: Any, *way: Any, value: Any) -> Any:
    """The content with what lies at the end of the way replaced."""
    if not way:
        return value
    copy = content.copy()
    copy[way[0]] = spoilt(content[way[0]], *way[1:], value=value) if len(way) > 1 else value
    return copy


DAMAGE: list[tuple[tuple[Any, ...], Any]] = [
    ((), []),
    (("kind",), "fedwalk roster 0"),
    (("more",), 1),
    (("names",), "ada"),
    (("names", 0), 7),
    (("names", 0), "bob"),
    (("names", 0), "a\nb"),
    (("names", 0), ""),
    (("holders",), {}),
    (("holders", 0), []),
    (("holders", 0, "more"), 1),
    (("holders", 0, "name"), "ward"),
    (("holders", 0, "name"), "Clinic"),
    (("holders", 0, "name"), None),
    (("holders", 0, "address"), "nowhere"),
    (("holders", 0, "address"), "ward:7443"),
    (("holders", 0, "node_key"), "ssh-rsa AAAA"),
    (("holders", 0, "removed"), 0),
    (("holders", 0, "devices"), 3),
    (("holders", 0, "devices"), []),
    (("holders", 0, "devices"), [0, 1, True]),
    (("holders", 0, "devices"), [0, 1, 3]),
    (("holders", 0, "devices"), [0, 1, -1]),
    (("holders", 0, "devices"), [0, 1]),
    (("holders", 0, "devices"), [0, 1, 2.0]),
]


@pytest.mark.parametrize(("way", "value"), DAMAGE)
def test_a_damaged_file_is_refused_by_name(roster: Roster, tmp_path: Path, way: tuple[Any, ...], value: Any) -> None:
    path = tmp_path / "roster.json"
    roster.save(path)
    path.write_text(json.dumps(spoilt(json.loads(path.read_text()), *way, value=value)))
    with pytest.raises(InputError, match=r"roster\.json: isn't fedwalk's roster"):
        Roster.load(path)


@pytest.mark.parametrize("data", [b"", b"{", b"\xff\xfe", b"[" * 100_000])
def test_a_file_that_is_no_json_is_refused_by_name(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "roster.json").write_bytes(data)
    with pytest.raises(InputError, match=r"roster\.json: isn't fedwalk's roster"):
        Roster.load(tmp_path / "roster.json")


def test_a_file_that_is_not_there_is_named(roster: Roster, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"roster\.json: can't be read \(No such file"):
        Roster.load(tmp_path / "roster.json")
    with pytest.raises(InputError, match=r"roster\.json: can't be written .*No such file"):
        roster.save(tmp_path / "nowhere" / "roster.json")
