"""A short run of benchmarks/fuzz.py: no decoder raises anything but our own errors, whatever the bytes."""

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from fuzz import CHUNK, State, Tally, decoders, tasks, try_inputs

INPUTS = 300


@pytest.mark.parametrize("name", decoders())
def test_a_valid_sample_is_accepted(name: str) -> None:
    decoder = decoders()[name]
    for sample in set(decoder.recipe.samples[:2]):
        decoder.decode(sample)


@pytest.mark.parametrize("name", decoders())
def test_spoiled_inputs_are_accepted_or_refused_with_our_own_errors(name: str) -> None:
    tally = try_inputs(decoders()[name], Random(f"test {name}"), INPUTS)
    assert [why for _, why in tally.crashes] == []
    assert tally.accepted + tally.refused == INPUTS
    assert tally.refused > INPUTS // 20 or name == "server's response"


def test_any_other_error_is_a_crash_with_its_input() -> None:
    def fail(data: bytes) -> None:
        raise RecursionError

    tally = try_inputs(replace(decoders()["status"], decode=fail), Random(0), 3)
    assert (tally.accepted, tally.refused, len(tally.crashes)) == (0, 0, 3)
    assert "RecursionError" in tally.crashes[0][1]


def test_a_run_that_was_stopped_goes_on_where_it_was(tmp_path: Path) -> None:
    state = State(tmp_path / "state.json", seed=3)
    assert len(tasks(state, ["status", "run request"], 2 * CHUNK)) == 4
    state.add("run request", Tally(CHUNK, 1, CHUNK - 2, 0.5, 0.1, [(b"bad", "KeyError")]))
    state.save()
    again = State(tmp_path / "state.json", seed=3)
    assert tasks(again, ["status", "run request"], 2 * CHUNK) == [
        ("status", 3, 0, CHUNK), ("status", 3, CHUNK, CHUNK), ("run request", 3, CHUNK, CHUNK),
    ]  # fmt: skip
    assert {path.read_bytes() for path in again.crashes.iterdir()} == {b"bad", b"KeyError"}
    with pytest.raises(SystemExit, match="was made with --seed 3"):
        State(tmp_path / "state.json", seed=4)
