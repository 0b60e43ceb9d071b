"""A holder's memory: the same answer to the same question, whatever dies in between."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import remembering
from fedwalk.errors import BudgetError, ProtocolError, RunFolderError
from fedwalk.federation.holder import answer_lists
from fedwalk.federation.lists import KnownLists
from fedwalk.federation.memory import MOST_ANSWERS, MOST_RUNS, Memory, _from_bytes, _seal, _to_bytes, question_key
from fedwalk.federation.parcels import Fields, pack
from fedwalk.protocol.randomness import SystemRandomness
from privacy.devices import Untouchable
from remembering import ANSWERS, LISTS, PLAN, VECTORS, digest, lists, vectors


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "memory").locked(10) as held:
        yield held


def in_another_process(folder: Path, what: str, end: str = "") -> subprocess.CompletedProcess[str]:
    """Answer there, with the operating system's randomness, and say what the answer was."""
    command = [sys.executable, remembering.__file__, str(folder), what, end]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("what", ["vectors", "lists"])
def test_a_second_process_gives_the_same_answer(tmp_path: Path, what: str) -> None:
    first, second = (in_another_process(tmp_path, what) for _ in range(2))
    assert (first.returncode, first.stderr) == (0, "")
    assert first.stdout == second.stdout
    with Memory(tmp_path).locked(10) as memory:
        assert digest(ANSWERS[what](memory, Untouchable())) == first.stdout.strip()


@pytest.mark.parametrize("what", ["vectors", "lists"])
def test_a_process_killed_between_keeping_and_sending_changes_nothing(tmp_path: Path, what: str) -> None:
    killed = in_another_process(tmp_path, what, "die")
    assert killed.returncode == -signal.SIGKILL
    assert in_another_process(tmp_path, what).stdout == killed.stdout != ""


def test_two_holders_draw_differently(tmp_path: Path) -> None:
    found = []
    for name in ("one", "other"):
        with Memory(tmp_path / name).locked(10) as memory:
            found.append(digest(vectors(memory, SystemRandomness())))
    assert found[0] != found[1]


def test_every_kind_of_field_comes_back_as_it_was(memory: Memory) -> None:
    fields: Fields = {
        "hops": 2**62, "seconds": 1.0, "odd": -0.0, "refused": '{"ä": 1}', "unreachable": ["a", "ü"], "none": [],
        "flags": np.array([True, False]), "rows": np.array([[np.nan, 1e-40]], np.float32),
        "empty": np.empty((0, 7), np.int32), "file": np.arange(3, dtype=np.uint8),
    }  # fmt: skip
    memory.keep("walks", question_key(PLAN), fields)
    found = memory.recall("walks", question_key(PLAN))
    assert found is not None
    assert found.keys() == fields.keys()
    for name, value in fields.items():
        assert type(found[name]) is type(value)
        if isinstance(value, np.ndarray):
            assert (found[name].dtype, found[name].shape) == (value.dtype, value.shape)
            assert found[name].tobytes() == value.tobytes()
        else:
            assert repr(found[name]) == repr(value)


def test_objects_are_not_kept(memory: Memory) -> None:
    with pytest.raises(ValueError, match="Object arrays cannot be saved"):
        memory.keep("walks", question_key(PLAN), {"walks": np.array([{}], object)})


@pytest.mark.parametrize(
    "other",
    [
        replace(VECTORS, run="run 2"),
        replace(VECTORS, epsilon=2.5),
        replace(VECTORS, k=4),
        replace(VECTORS, bins=VECTORS.bins[::-1]),
        replace(VECTORS, bins=VECTORS.bins.astype(np.int64)),
        replace(VECTORS, bins=VECTORS.bins.reshape(2, 17)),
        replace(VECTORS, participants=VECTORS.bins, bins=VECTORS.participants),
        PLAN,
    ],
)
def test_another_question_has_another_key(other: Any) -> None:
    assert question_key(other) != question_key(VECTORS)


def test_the_same_question_has_the_same_key_wherever_it_lies_in_memory() -> None:
    apart = np.repeat(VECTORS.bins, 2)[::2]
    assert question_key(replace(VECTORS, bins=apart)) == question_key(VECTORS)


def test_a_phase_does_not_recall_anothers_answer(memory: Memory) -> None:
    memory.keep("vectors", question_key(VECTORS), {"hops": 1})
    assert memory.recall("matrices", question_key(VECTORS)) is None


def test_a_run_is_answered_so_often_and_no_more(memory: Memory) -> None:
    keys = [question_key(replace(PLAN, epoch=epoch)) for epoch in range(MOST_ANSWERS + 1)]
    for key in keys[:-1]:
        assert memory.recall("lists", key) is None
        memory.keep("lists", key, {"hops": 1})
    with pytest.raises(ProtocolError, match=rf"has answered {MOST_ANSWERS} questions of the run"):
        memory.recall("lists", keys[-1])
    assert memory.recall("lists", keys[0]) == {"hops": 1}
    assert memory.recall("lists", question_key(replace(PLAN, run="run 2"))) is None


def test_only_the_last_runs_are_remembered(memory: Memory) -> None:
    runs = [f"../{i}" for i in range(MOST_RUNS + 3)]
    for run in runs:
        memory.keep_snapshot(run, LISTS)
        memory.keep("lists", question_key(replace(PLAN, run=run)), {"hops": 1})
    remembered = [run for run in runs if memory.snapshot(run) is not None]
    assert remembered == runs[-MOST_RUNS:]
    assert len(list((memory.folder / "runs").iterdir())) == MOST_RUNS
    assert {path.name for path in memory.folder.parent.iterdir()} == {"memory"}


def test_a_forgotten_run_leaves_the_devices_answers(memory: Memory) -> None:
    first = lists(memory, SystemRandomness())
    memory.keep_snapshot("run 1", LISTS)
    memory.keep("lists", question_key(PLAN), first)
    for number in range(MOST_RUNS):
        memory.keep_snapshot(f"later {number}", LISTS)
    assert memory.snapshot("run 1") is None
    assert memory.recall("lists", question_key(PLAN)) is None
    assert digest(lists(memory, Untouchable())) == digest(first)


def test_a_run_speaks_of_the_lists_of_its_roll_call(memory: Memory) -> None:
    changed = KnownLists(34, LISTS.devices[:1], LISTS.indptr[:2], LISTS.indices[: LISTS.indptr[1]], unknown=3, absent=1)
    assert memory.snapshot("run 1") is None
    assert memory.keep_snapshot("run 1", LISTS) is LISTS
    standing = memory.keep_snapshot("run 1", changed)
    assert digest(pack(standing)) == digest(pack(LISTS))
    memory.keep_snapshot("run 2", changed)
    first, second = memory.snapshot("run 1"), memory.snapshot("run 2")
    assert first is not None
    assert second is not None
    assert digest(pack(first)) == digest(pack(LISTS))
    assert (second.devices.size, second.unknown, second.absent) == (1, 3, 1)


def test_the_budget_is_for_all_runs_together(memory: Memory) -> None:
    first = lists(memory, SystemRandomness(), budget=3.0)
    with pytest.raises(BudgetError, match="2 of the budget of 3 are spent"):
        lists(memory, Untouchable(), replace(PLAN, run="run 2", epoch=1), budget=3.0)
    again = lists(memory, Untouchable(), replace(PLAN, run="run 2"), budget=1.0)
    assert digest(again) == digest(first)
    lists(memory, SystemRandomness(), replace(PLAN, run="run 3", epoch=1), budget=4.0)


def test_a_device_that_is_away_for_a_while_is_not_forgotten(memory: Memory) -> None:
    first = lists(memory, SystemRandomness())
    few = KnownLists(34, LISTS.devices[:2], LISTS.indptr[:3], LISTS.indices[: LISTS.indptr[2]])
    memory.keep_devices(memory.list_devices(few, Untouchable(), None))
    assert digest(lists(memory, Untouchable())) == digest(first)


def test_ids_are_pinned_to_their_names(memory: Memory) -> None:
    memory.pin_names(["a", "b"])
    memory.pin_names(["a", "b", "c"])
    memory.pin_names(["a"])
    with pytest.raises(ProtocolError, match=r"vertex 2 is 'd', and had another name before"):
        memory.pin_names(["a", "b", "d"])


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def flip(data: bytes) -> bytes:
    """One wrong digit, past the checksum that comes first."""
    at = data.rindex(b"3]") if data.startswith(b"{") else len(data) // 2
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


@pytest.mark.parametrize("damage", [cut, flip, lambda data: b"", lambda data: b"{}", lambda data: b"[1]"])
@pytest.mark.parametrize("file", ["lists.json", "vectors", "snapshot"])
def test_a_damaged_file_is_never_taken_for_a_new_beginning(memory: Memory, damage: Any, file: str) -> None:
    lists(memory, SystemRandomness())
    memory.keep_snapshot("run 1", LISTS)
    vectors(memory, SystemRandomness())
    [path] = memory.folder.rglob(f"{file}*")
    path.write_bytes(damage(path.read_bytes()))
    spoiled = path.read_bytes()
    asked: dict[str, Callable[[], object]] = {
        "lists.json": lambda: lists(memory, Untouchable()),
        "vectors": lambda: vectors(memory, Untouchable()),
        "snapshot": lambda: memory.snapshot("run 1"),
    }
    with pytest.raises(RunFolderError, match=r"can't be read back .* Never start afresh"):
        asked[file]()
    assert path.read_bytes() == spoiled


def test_no_flipped_bit_of_a_kept_answer_goes_unnoticed() -> None:
    whole = _to_bytes({"hops": 1, "ids": np.arange(2, dtype=np.int32)})
    assert _from_bytes(whole).keys() == {"hops", "ids"}
    for bit in range(8 * len(whole)):
        spoiled = bytearray(whole)
        spoiled[bit // 8] ^= 1 << bit % 8
        with pytest.raises(ValueError, match="its checksum is wrong"):
            _from_bytes(bytes(spoiled))


def test_no_shortened_answer_goes_unnoticed(memory: Memory) -> None:
    vectors(memory, SystemRandomness())
    [path] = memory.folder.rglob("vectors-*.npz")
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(RunFolderError, match="its checksum is wrong"):
            memory.recall("vectors", question_key(VECTORS))


def test_numpy_reads_a_kept_answer(memory: Memory) -> None:
    memory.keep("lists", question_key(PLAN), {"hops": 1, "ids": np.arange(2, dtype=np.int32)})
    [path] = memory.folder.rglob("lists-*.npz")
    with np.load(path) as archive:
        assert archive["array ids"].tolist() == [0, 1]


@pytest.mark.parametrize(
    "plain",
    [
        b'{"hops": [1]}',
        b'{"hops": 9223372036854775808}',
        b"[]",
        b"null",
        b'{"hops": null}',
        b'{"hops": {}}',
        rb'{"hops": "\ud800"}',
        b"[" * 5000,
        b"1e999",
    ],
)
def test_an_answer_of_other_types_is_refused_though_its_checksum_is_right(memory: Memory, plain: bytes) -> None:
    memory.keep("lists", question_key(PLAN), {"hops": 1})
    [path] = memory.folder.rglob("lists-*.npz")
    content = BytesIO()
    np.savez(content, plain=np.frombuffer(plain, np.uint8))
    path.write_bytes(content.getvalue() + _seal(content.getvalue()))
    with pytest.raises(RunFolderError, match=r"can't be read back .* Never start afresh"):
        memory.recall("lists", question_key(PLAN))


RELEASE = ("ledger", "releases", "*")


@pytest.mark.parametrize(("place", "values"), [
    (("device",), [None, "0", 1, [], 10**19]),
    (("ledger",), [None, [], "", 1, {}]),
    (("ledger", "releases"), [None, [], "", 1, {"a": None}, {"a": []}, {"a": {}}]),
    ((*RELEASE, "epsilon"), [None, "2", "nan", -1, True, [], {}]),
    ((*RELEASE, "times"), [None, "1", 0, 1.5, True, [], {}]),
    ((*RELEASE, "ends"), [None, "1", 3, 1.5, True]),
    ((*RELEASE, "what"), [None, 1, []]),
    ((*RELEASE, "nominal"), [None, 1, "yes"]),
    (("answers",), [None, [], "", 1, {"a": None}]),
    (("answers", "*"), [None, "", 1, {}, ["a"], [[1]], [1.5], [True], [2, 1], [-1], [2**40], [10**19], [None]]),
])  # fmt: skip
def test_states_of_other_types_are_refused_though_their_checksum_is_right(
    memory: Memory, place: tuple[str, ...], values: list[Any]
) -> None:
    lists(memory, SystemRandomness())
    whole = memory._states()
    for value in values:
        states = deepcopy(whole)
        inner = states["0"]
        *way, last = place
        for name in way:
            inner = inner[next(iter(inner)) if name == "*" else name]
        inner[next(iter(inner)) if last == "*" else last] = value
        memory._write_states(states)
        with pytest.raises(RunFolderError, match=r"lists\.json: can't be read back .* Never start afresh"):
            memory.list_devices(LISTS, SystemRandomness(), None)


DAMAGED = [
    b"", b"null", b"[]", b"{}", b"1", b'"a"', b"\xff", b"[" * 50_000, b'{"a":' * 50_000, rb'["\ud800"]', b"NaN",
    b'{"sha256": "", "devices": null}', b'{"sha256": null, "devices": {"0": {}}}', b"9" * 5000, b"[1]", b"[null]",
    b'{"sha256": "", "devices": {"a": {}}}', b'{"sha256": "", "devices": {"0": 1}}',
]  # fmt: skip


@pytest.mark.parametrize("data", DAMAGED, ids=lambda data: repr(data[:40]))
def test_the_answer_store_refuses_files_that_fedwalk_did_not_write(memory: Memory, data: bytes) -> None:
    memory.pin_names(["a", "b"])
    lists(memory, SystemRandomness())
    (memory.folder / "names.json").write_bytes(data)
    with pytest.raises(RunFolderError, match=r"names\.json: can't be read back"):
        memory.pin_names(["a", "b"])
    (memory.folder / "lists.json").write_bytes(data)
    with pytest.raises(RunFolderError, match=r"lists\.json: can't be read back"):
        memory.list_devices(LISTS, SystemRandomness(), None)


@pytest.mark.parametrize("name", ["names.json", "lists.json", "lock"])
def test_a_folder_in_place_of_a_file_is_refused(tmp_path: Path, name: str) -> None:
    with Memory(tmp_path).locked(10) as memory:
        memory.pin_names(["a"])
    (tmp_path / name).unlink()
    (tmp_path / name).mkdir()

    def use() -> None:
        with Memory(tmp_path).locked(0) as held:
            held.list_devices(LISTS, SystemRandomness(), None)
            held.pin_names(["a"])

    with pytest.raises(RunFolderError, match=rf"{name}: can't be .*Is a directory"):
        use()


def test_other_files_among_the_runs_do_not_matter(memory: Memory) -> None:
    (memory.folder / "runs" / ".DS_Store").write_bytes(b"")
    (memory.folder / "runs" / "zzz").mkdir()
    memory.keep("lists", question_key(PLAN), {"hops": 1})
    assert memory.recall("lists", question_key(PLAN)) == {"hops": 1}


def test_a_lost_file_of_ledgers_is_never_taken_for_a_new_beginning(tmp_path: Path) -> None:
    with Memory(tmp_path).locked(10) as memory:
        lists(memory, SystemRandomness())
    (tmp_path / "lists.json").unlink()
    with pytest.raises(RunFolderError, match=r"lists.json: .*it is missing.* Never start afresh"):
        Memory(tmp_path).locked(10).__enter__()


def test_a_damaged_list_of_names_is_refused(memory: Memory) -> None:
    memory.pin_names(["a", "b"])
    (memory.folder / "names.json").write_bytes(b'["a"')
    with pytest.raises(RunFolderError, match=r"names\.json"):
        memory.pin_names(["a", "b"])


def test_names_that_are_lost_after_devices_have_answered_are_missed(memory: Memory) -> None:
    memory.pin_names(["a", "b"])
    lists(memory, SystemRandomness())
    (memory.folder / "names.json").unlink()
    with pytest.raises(RunFolderError, match=r"names\.json: .*it is missing"):
        memory.pin_names(["b", "a"])


def test_an_answer_that_cannot_be_kept_does_not_leave(memory: Memory) -> None:
    devices = memory.list_devices(LISTS, SystemRandomness(), None)
    answer_lists(PLAN, LISTS, devices)
    (memory.folder / "lists.json.partial").mkdir()
    with pytest.raises(RunFolderError, match="can't be written"):
        memory.keep_devices(devices)
    assert json.loads((memory.folder / "lists.json").read_bytes())["devices"] == {}


def test_only_the_owner_may_read_it(memory: Memory) -> None:
    old = os.umask(0)
    try:
        memory.pin_names(["a"])
        memory.keep_snapshot("run 1", LISTS)
        lists(memory, SystemRandomness())
        vectors(memory, SystemRandomness())
    finally:
        os.umask(old)
    for path in (memory.folder, *memory.folder.rglob("*")):
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path


def test_a_second_process_waits_for_its_turn_and_not_for_ever(tmp_path: Path) -> None:
    with Memory(tmp_path).locked(10), pytest.raises(RunFolderError, match=r"has used it for more than 0.1 s"):
        Memory(tmp_path).locked(0.1).__enter__()
    with Memory(tmp_path).locked(0):
        pass


def test_a_process_that_waits_goes_on_when_the_other_dies(tmp_path: Path) -> None:
    hold = f"""
import pathlib, sys
from fedwalk.federation.memory import Memory
with Memory(pathlib.Path({str(tmp_path)!r})).locked(10):
    print("held", flush=True)
    sys.stdin.read()
"""
    with subprocess.Popen([sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        try:
            assert other.stdout is not None
            assert other.stdout.readline() == b"held\n"
            with pytest.raises(RunFolderError):
                Memory(tmp_path).locked(0).__enter__()
        finally:
            other.kill()
        with Memory(tmp_path).locked(30):
            pass
