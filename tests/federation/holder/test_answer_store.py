"""The answer store: the same answer to the same question, whichever process dies in between."""

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

from fedwalk.errors import BudgetError, ProtocolError, RunFolderError
from fedwalk.federation.holder.answer_file import from_bytes, seal, to_bytes
from fedwalk.federation.holder.answer_store import MAX_ANSWERS, MAX_RUNS, AnswerStore, question_key
from fedwalk.federation.holder.answers import answer_reports
from fedwalk.federation.holder.neighbour_lists import KnownNeighbours
from fedwalk.federation.wire.questions import Fields, pack
from fedwalk.privacy.randomness import SystemRandomness
from helpers.commands import helper_command
from helpers.store_process import ANSWERS, NEIGHBOURS, PLAN, VECTORS, digest, reports, vectors
from helpers.tiny_devices import Untouchable


@pytest.fixture
def store(tmp_path: Path) -> Iterator[AnswerStore]:
    with AnswerStore(tmp_path / "answers").locked(10) as held:
        yield held


def in_another_process(folder: Path, what: str, end: str = "") -> subprocess.CompletedProcess[str]:
    """Answer in another process, with the operating system's randomness; returns the digest of the answer."""
    command = helper_command("store_process", folder, what, end)
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("what", ["vectors", "reports"])
def test_a_process_killed_between_keeping_and_sending_changes_nothing(tmp_path: Path, what: str) -> None:
    killed = in_another_process(tmp_path, what, "die")
    assert killed.returncode == -signal.SIGKILL
    second = in_another_process(tmp_path, what)
    assert (second.returncode, second.stderr) == (0, "")
    assert second.stdout == killed.stdout != ""
    with AnswerStore(tmp_path).locked(10) as store:
        assert digest(ANSWERS[what](store, Untouchable())) == second.stdout.strip()


def test_two_holders_draw_differently(tmp_path: Path) -> None:
    digests = []
    for name in ("one", "other"):
        with AnswerStore(tmp_path / name).locked(10) as store:
            digests.append(digest(vectors(store, SystemRandomness())))
    assert digests[0] != digests[1]


def test_every_kind_of_field_comes_back_as_it_was(store: AnswerStore) -> None:
    fields: Fields = {
        "hops": 2**62, "seconds": 1.0, "odd": -0.0, "refused": '{"ä": 1}', "unreachable": ["a", "ü"], "none": [],
        "flags": np.array([True, False]), "rows": np.array([[np.nan, 1e-40]], np.float32),
        "empty": np.empty((0, 7), np.int32), "file": np.arange(3, dtype=np.uint8),
    }  # fmt: skip
    store.keep("walks", question_key(PLAN), fields)
    stored = store.recall("walks", question_key(PLAN))
    assert stored is not None
    assert stored.keys() == fields.keys()
    for name, value in fields.items():
        assert type(stored[name]) is type(value)
        if isinstance(value, np.ndarray):
            assert (stored[name].dtype, stored[name].shape) == (value.dtype, value.shape)
            assert stored[name].tobytes() == value.tobytes()
        else:
            assert repr(stored[name]) == repr(value)


def test_objects_are_not_kept(store: AnswerStore) -> None:
    with pytest.raises(ValueError, match="Object arrays cannot be saved"):
        store.keep("walks", question_key(PLAN), {"walks": np.array([{}], object)})


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


def test_a_phase_does_not_recall_anothers_answer(store: AnswerStore) -> None:
    store.keep("vectors", question_key(VECTORS), {"hops": 1})
    assert store.recall("matrices", question_key(VECTORS)) is None


def test_a_run_gets_at_most_max_answers_new_answers(store: AnswerStore) -> None:
    keys = [question_key(replace(PLAN, epoch=epoch)) for epoch in range(MAX_ANSWERS + 1)]
    for key in keys[:-1]:
        assert store.recall("reports", key) is None
        store.keep("reports", key, {"hops": 1})
    with pytest.raises(ProtocolError, match=rf"has answered {MAX_ANSWERS} questions of the run"):
        store.recall("reports", keys[-1])
    assert store.recall("reports", keys[0]) == {"hops": 1}
    assert store.recall("reports", question_key(replace(PLAN, run="run 2"))) is None


def test_only_the_answers_of_the_last_runs_are_kept(store: AnswerStore) -> None:
    runs = [f"../{i}" for i in range(MAX_RUNS + 3)]
    for run in runs:
        store.keep_snapshot(run, NEIGHBOURS)
        store.keep("reports", question_key(replace(PLAN, run=run)), {"hops": 1})
    remembered = [run for run in runs if store.snapshot(run) is not None]
    assert remembered == runs[-MAX_RUNS:]
    assert len(list((store.folder / "runs").iterdir())) == MAX_RUNS
    assert {path.name for path in store.folder.parent.iterdir()} == {"answers"}


def test_the_devices_reports_outlive_the_run_they_were_made_in(store: AnswerStore) -> None:
    first = reports(store, SystemRandomness())
    store.keep_snapshot("run 1", NEIGHBOURS)
    store.keep("reports", question_key(PLAN), first)
    for number in range(MAX_RUNS):
        store.keep_snapshot(f"later {number}", NEIGHBOURS)
    assert store.snapshot("run 1") is None
    assert store.recall("reports", question_key(PLAN)) is None
    assert digest(reports(store, Untouchable())) == digest(first)


def test_all_phases_of_a_run_use_the_neighbours_of_its_roll_call(store: AnswerStore) -> None:
    changed = KnownNeighbours(
        34,
        NEIGHBOURS.devices[:1],
        NEIGHBOURS.indptr[:2],
        NEIGHBOURS.indices[: NEIGHBOURS.indptr[1]],
        unknown=3,
        absent=1,
    )
    assert store.snapshot("run 1") is None
    assert store.keep_snapshot("run 1", NEIGHBOURS) is NEIGHBOURS
    standing = store.keep_snapshot("run 1", changed)
    assert digest(pack(standing)) == digest(pack(NEIGHBOURS))
    store.keep_snapshot("run 2", changed)
    first, second = store.snapshot("run 1"), store.snapshot("run 2")
    assert first is not None
    assert second is not None
    assert digest(pack(first)) == digest(pack(NEIGHBOURS))
    assert (second.devices.size, second.unknown, second.absent) == (1, 3, 1)


def test_the_budget_is_for_all_runs_together(store: AnswerStore) -> None:
    first = reports(store, SystemRandomness(), budget=3.0)
    with pytest.raises(BudgetError, match="2 of the budget of 3 are spent"):
        reports(store, Untouchable(), replace(PLAN, run="run 2", epoch=1), budget=3.0)
    again = reports(store, Untouchable(), replace(PLAN, run="run 2"), budget=1.0)
    assert digest(again) == digest(first)
    reports(store, SystemRandomness(), replace(PLAN, run="run 3", epoch=1), budget=4.0)


def test_a_device_that_is_missing_for_a_while_keeps_its_state(store: AnswerStore) -> None:
    first = reports(store, SystemRandomness())
    few = KnownNeighbours(34, NEIGHBOURS.devices[:2], NEIGHBOURS.indptr[:3], NEIGHBOURS.indices[: NEIGHBOURS.indptr[2]])
    store.keep_devices(store.report_devices(few, Untouchable(), None))
    assert digest(reports(store, Untouchable())) == digest(first)


def test_ids_are_pinned_to_their_names(store: AnswerStore) -> None:
    store.pin_names(["a", "b"])
    store.pin_names(["a", "b", "c"])
    store.pin_names(["a"])
    with pytest.raises(ProtocolError, match=r"vertex 2 is 'd', but had another name before"):
        store.pin_names(["a", "b", "d"])


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def flip(data: bytes) -> bytes:
    """One wrong digit, past the checksum that comes first."""
    at = data.rindex(b"3]") if data.startswith(b"{") else len(data) // 2
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


@pytest.mark.parametrize("damage", [cut, flip, lambda data: b"", lambda data: b"{}", lambda data: b"[1]"])
@pytest.mark.parametrize("file", ["devices.json", "vectors", "snapshot"])
def test_a_damaged_file_is_an_error_and_never_an_empty_store(store: AnswerStore, damage: Any, file: str) -> None:
    reports(store, SystemRandomness())
    store.keep_snapshot("run 1", NEIGHBOURS)
    vectors(store, SystemRandomness())
    [path] = store.folder.rglob(f"{file}*")
    path.write_bytes(damage(path.read_bytes()))
    spoiled = path.read_bytes()
    asked: dict[str, Callable[[], object]] = {
        "devices.json": lambda: reports(store, Untouchable()),
        "vectors": lambda: vectors(store, Untouchable()),
        "snapshot": lambda: store.snapshot("run 1"),
    }
    with pytest.raises(RunFolderError, match=r"can't be read back .* Don't start with an empty store"):
        asked[file]()
    assert path.read_bytes() == spoiled


def test_no_flipped_bit_of_a_kept_answer_goes_unnoticed() -> None:
    whole = to_bytes({"hops": 1, "ids": np.arange(2, dtype=np.int32)})
    assert from_bytes(whole).keys() == {"hops", "ids"}
    for bit in range(8 * len(whole)):
        spoiled = bytearray(whole)
        spoiled[bit // 8] ^= 1 << bit % 8
        with pytest.raises(ValueError, match="its checksum is wrong"):
            from_bytes(bytes(spoiled))


def test_no_shortened_answer_goes_unnoticed(store: AnswerStore) -> None:
    vectors(store, SystemRandomness())
    [path] = store.folder.rglob("vectors-*.npz")
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(RunFolderError, match="its checksum is wrong"):
            store.recall("vectors", question_key(VECTORS))


def test_numpy_reads_a_kept_answer(store: AnswerStore) -> None:
    store.keep("reports", question_key(PLAN), {"hops": 1, "ids": np.arange(2, dtype=np.int32)})
    [path] = store.folder.rglob("reports-*.npz")
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
def test_an_answer_of_other_types_is_refused_though_its_checksum_is_right(store: AnswerStore, plain: bytes) -> None:
    store.keep("reports", question_key(PLAN), {"hops": 1})
    [path] = store.folder.rglob("reports-*.npz")
    content = BytesIO()
    np.savez(content, plain=np.frombuffer(plain, np.uint8))
    path.write_bytes(content.getvalue() + seal(content.getvalue()))
    with pytest.raises(RunFolderError, match=r"can't be read back .* Don't start with an empty store"):
        store.recall("reports", question_key(PLAN))


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
    (("reports",), [None, [], "", 1, {"a": None}]),
    (("reports", "*"), [None, "", 1, {}, ["a"], [[1]], [1.5], [True], [2, 1], [-1], [2**40], [10**19], [None]]),
])  # fmt: skip
def test_states_of_other_types_are_refused_though_their_checksum_is_right(
    store: AnswerStore, place: tuple[str, ...], values: list[Any]
) -> None:
    reports(store, SystemRandomness())
    whole = store._states()
    for value in values:
        states = deepcopy(whole)
        inner = states["0"]
        *way, last = place
        for name in way:
            inner = inner[next(iter(inner)) if name == "*" else name]
        inner[next(iter(inner)) if last == "*" else last] = value
        store._write_states(states)
        with pytest.raises(
            RunFolderError, match=r"devices\.json: can't be read back .* Don't start with an empty store"
        ):
            store.report_devices(NEIGHBOURS, SystemRandomness(), None)


DAMAGED = [
    b"", b"null", b"[]", b"{}", b"1", b'"a"', b"\xff", b"[" * 50_000, b'{"a":' * 50_000, rb'["\ud800"]', b"NaN",
    b'{"format": 2, "sha256": "", "devices": null}',
    b'{"format": 2, "sha256": null, "devices": {"0": {}}}', b"9" * 5000, b"[1]", b"[null]", b'{"format": 2}',
    b'{"format": true, "sha256": "", "devices": {}}', b'{"format": "2", "sha256": "", "devices": {}}',
    b'{"format": 2, "sha256": "", "devices": {"a": {}}}',
    b'{"format": 2, "sha256": "", "devices": {"0": 1}}',
]  # fmt: skip


@pytest.mark.parametrize("data", DAMAGED, ids=lambda data: repr(data[:40]))
def test_the_answer_store_refuses_files_that_fedwalk_did_not_write(store: AnswerStore, data: bytes) -> None:
    store.pin_names(["a", "b"])
    reports(store, SystemRandomness())
    (store.folder / "names.json").write_bytes(data)
    with pytest.raises(RunFolderError, match=r"names\.json: can't be read back"):
        store.pin_names(["a", "b"])
    (store.folder / "devices.json").write_bytes(data)
    with pytest.raises(RunFolderError, match=r"devices\.json: can't be read back"):
        store.report_devices(NEIGHBOURS, SystemRandomness(), None)


@pytest.mark.parametrize(
    ("number", "advice"),
    [(None, "Do not delete the old folder"), (1, "Do not delete"), (3, "Install the newer fedwalk")],
)
def test_a_store_of_another_format_is_refused_with_what_to_do(
    store: AnswerStore, number: int | None, advice: str
) -> None:
    reports(store, SystemRandomness())
    path = store.folder / "devices.json"
    content = json.loads(path.read_bytes())
    assert content.pop("format") == 2
    path.write_text(json.dumps(content if number is None else {"format": number, **content}))
    shown = rf"devices\.json: belongs to an answer store of format {number or 1}; .* reads format 2\. .*{advice}"
    with pytest.raises(RunFolderError, match=shown):
        store.report_devices(NEIGHBOURS, SystemRandomness(), None)


@pytest.mark.parametrize("name", ["names.json", "devices.json", "lock"])
def test_a_folder_in_place_of_a_file_is_refused(tmp_path: Path, name: str) -> None:
    with AnswerStore(tmp_path).locked(10) as store:
        store.pin_names(["a"])
    (tmp_path / name).unlink()
    (tmp_path / name).mkdir()

    def use() -> None:
        with AnswerStore(tmp_path).locked(0) as held:
            held.report_devices(NEIGHBOURS, SystemRandomness(), None)
            held.pin_names(["a"])

    with pytest.raises(RunFolderError, match=rf"{name}: can't be .*Is a directory"):
        use()


def test_other_files_among_the_runs_do_not_matter(store: AnswerStore) -> None:
    (store.folder / "runs" / ".DS_Store").write_bytes(b"")
    (store.folder / "runs" / "zzz").mkdir()
    store.keep("reports", question_key(PLAN), {"hops": 1})
    assert store.recall("reports", question_key(PLAN)) == {"hops": 1}


def test_a_missing_ledger_file_is_an_error_and_never_an_empty_store(tmp_path: Path) -> None:
    with AnswerStore(tmp_path).locked(10) as store:
        reports(store, SystemRandomness())
    (tmp_path / "devices.json").unlink()
    with pytest.raises(RunFolderError, match=r"devices.json: .*it is missing.* Don't start with an empty store"):
        AnswerStore(tmp_path).locked(10).__enter__()


def test_a_damaged_list_of_names_is_refused(store: AnswerStore) -> None:
    store.pin_names(["a", "b"])
    (store.folder / "names.json").write_bytes(b'["a"')
    with pytest.raises(RunFolderError, match=r"names\.json"):
        store.pin_names(["a", "b"])


def test_a_missing_names_file_is_an_error_once_devices_have_answered(store: AnswerStore) -> None:
    store.pin_names(["a", "b"])
    reports(store, SystemRandomness())
    (store.folder / "names.json").unlink()
    with pytest.raises(RunFolderError, match=r"names\.json: .*it is missing"):
        store.pin_names(["b", "a"])


def test_an_answer_that_cannot_be_stored_is_not_sent(store: AnswerStore) -> None:
    devices = store.report_devices(NEIGHBOURS, SystemRandomness(), None)
    answer_reports(PLAN, NEIGHBOURS, devices)
    (store.folder / "devices.json.partial").mkdir()
    with pytest.raises(RunFolderError, match=r"can't be written.*Nothing was sent"):
        store.keep_devices(devices)
    assert json.loads((store.folder / "devices.json").read_bytes())["devices"] == {}


def test_only_the_owner_may_read_the_store(store: AnswerStore) -> None:
    old = os.umask(0)
    try:
        store.pin_names(["a"])
        store.keep_snapshot("run 1", NEIGHBOURS)
        reports(store, SystemRandomness())
        vectors(store, SystemRandomness())
    finally:
        os.umask(old)
    for path in (store.folder, *store.folder.rglob("*")):
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path


def test_a_second_process_waits_for_the_lock_until_its_timeout(tmp_path: Path) -> None:
    with AnswerStore(tmp_path).locked(10), pytest.raises(RunFolderError, match=r"has used it for more than 0.1 s"):
        AnswerStore(tmp_path).locked(0.1).__enter__()
    with AnswerStore(tmp_path).locked(0):
        pass


def test_a_waiting_process_gets_the_lock_when_the_other_dies(tmp_path: Path) -> None:
    hold = f"""
import pathlib, sys
from fedwalk.federation.holder.answer_store import AnswerStore
with AnswerStore(pathlib.Path({str(tmp_path)!r})).locked(10):
    print("held", flush=True)
    sys.stdin.read()
"""
    with subprocess.Popen([sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        try:
            assert other.stdout is not None
            assert other.stdout.readline() == b"held\n"
            with pytest.raises(RunFolderError):
                AnswerStore(tmp_path).locked(0).__enter__()
        finally:
            other.kill()
        with AnswerStore(tmp_path).locked(30):
            pass
