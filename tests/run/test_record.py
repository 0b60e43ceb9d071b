"""run.json as a value: a record survives its own JSON, and a damaged or foreign file is refused by name."""

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedwalk import __version__
from fedwalk.errors import RunFolderError
from fedwalk.graph import Graph
from fedwalk.privacy.ledger import Ledger, Release
from fedwalk.protocols.transcript import Traffic, Transcript
from fedwalk.run.execute import embed_to_folder
from fedwalk.run.record import FORMAT, GraphFacts, RunRecord, WalkFacts, read_run, write_record
from fedwalk.settings import Settings

RECORD = RunRecord(
    protocol="paper",
    simulation=False,
    graph=GraphFacts(60, None, 2, "abc", ("2 loops were removed",), {"loops": 2, "directed": True}),
    settings=Settings().as_dict(),
    seconds={"load": 0.5, "total": 2.5},
    peak_rss_bytes=None,
    peak_rss_by_stage={"tree": 5_000_000},
    messages=Transcript({"hops": Traffic("device → device", ("network",), 7, 280)}),
    walks=WalkFacts(180, 40, 30.5, 31.25),
    epsilon=None,
    nominal_epsilon=2.0,
    privacy="nothing is proved",
    ledger=Ledger(8.0, {"first": Release("degrees", "each device", 1, "one edge", float("inf"), 2, "no bound")}),
    input={"graph": "graph.edges", "format": None},
    details={"power": 0.25},
    federation={"holders": {"clinic": 60}, "lost": {}, "embedded": 60},
)
OBJECTS = [
    (), ("graph",), ("walks",), ("ledger",), ("ledger", "releases", "first"),
    ("messages", "hops"), ("federation",),
]  # fmt: skip
"""Objects of run.json in which names are fixed."""
NOT_READ = {"per_edge", "per_device", "ends", "embedded", "notes", "nominal", "loops", "directed", "federation"}
"""Derived from others, or allowed to be absent."""
FREE = {"settings", "format"}
"""Refused for another reason than their type, which other tests are about."""
NULLABLE = {"isolated", "hops_per_walk", "expected_hops_per_walk", "nominal_epsilon", "budget"}
ALSO = {("epsilon", "2.5")}
"""A number is allowed where the record has null or "unbounded"."""
VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.lists(st.integers(), max_size=2)
)

words = st.text(max_size=8)
counts = st.integers(0, 2**40)
numbers = st.floats(0, 1e9)


@st.composite
def records(draw: st.DrawFn) -> RunRecord:
    """Any record that a run could write."""
    return RunRecord(
        protocol=draw(words),
        simulation=draw(st.booleans()),
        graph=GraphFacts(
            draw(counts), draw(st.none() | counts), draw(st.none() | counts), draw(words),
            tuple(draw(st.lists(words, max_size=2))),
        ),
        settings={**Settings().as_dict(), "own": draw(words | counts)},
        seconds={"total": draw(numbers)},
        peak_rss_bytes=draw(st.none() | counts),
        peak_rss_by_stage=draw(st.dictionaries(words, counts, max_size=2)),
        messages=Transcript({draw(words): Traffic(draw(words), (draw(words),), draw(counts), draw(counts))}),
        walks=WalkFacts(draw(counts), draw(counts), draw(st.none() | numbers), draw(st.none() | numbers)),
        epsilon=draw(st.none() | numbers),
        nominal_epsilon=draw(st.none() | numbers),
        privacy=draw(words),
        ledger=Ledger(
            draw(st.none() | numbers),
            {draw(words): Release(draw(words), draw(words), 1, draw(words), draw(numbers), 1, draw(words))},
        ),
        input=draw(st.dictionaries(words, st.none() | words, max_size=2)),
        details=draw(st.dictionaries(words, numbers, max_size=2)),
        federation=draw(st.none() | st.just({"holders": {}, "lost": {}})),
        version=draw(words),
    )  # fmt: skip


def content() -> dict[str, Any]:
    """The record's JSON, parsed, which a test may damage."""
    parsed: dict[str, Any] = json.loads(json.dumps(RECORD.as_dict(), allow_nan=False))
    return parsed


def part_of(whole: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    """The object that lies at this path."""
    for name in path:
        whole = whole[name]
    return whole


FIELDS = [(path, name) for path in OBJECTS for name in part_of(content(), path) if name not in NOT_READ]


@given(records())
def test_a_record_survives_its_own_json(record: RunRecord) -> None:
    text = json.dumps(record.as_dict(), allow_nan=False)
    again = RunRecord.from_dict(json.loads(text), "run.json")
    assert again == record
    assert json.dumps(again.as_dict()) == text


@pytest.mark.parametrize("protocol", ["paper", "ldp", "deepwalk"])
def test_a_real_run_reads_back_what_it_returned(protocol: str, network: Graph, tmp_path: Path) -> None:
    record = embed_to_folder(network, Settings(protocol=protocol, num_walks=2, walk_length=5, dim=4), tmp_path)
    assert read_run(tmp_path) == record


def test_a_written_record_is_read_back(tmp_path: Path) -> None:
    write_record(tmp_path, RECORD)
    assert read_run(tmp_path) == RECORD


@pytest.mark.parametrize(("path", "name"), [field for field in FIELDS if field[1] not in FREE])
def test_a_missing_field_is_named_with_the_file(path: tuple[str, ...], name: str) -> None:
    damaged = content()
    del part_of(damaged, path)[name]
    with pytest.raises(RunFolderError, match=rf"^somewhere/run\.json: .*'{name}'"):
        RunRecord.from_dict(damaged, "somewhere/run.json")


def wrong_values() -> Iterator[tuple[tuple[str, ...], str, object]]:
    """Every field with values of types that it can't have."""
    for path, name in FIELDS:
        right = part_of(content(), path)[name]
        values: list[object] = [[[]], "text", True, 2.5, float("nan"), None]
        for value in values:
            same = type(value) is type(right) and type(value) is not list and value == value
            if (
                name not in FREE
                and not same
                and not (value is None and name in NULLABLE)
                and (name, repr(value)) not in ALSO
            ):
                yield path, name, value


@pytest.mark.parametrize(("path", "name", "value"), list(wrong_values()))
def test_a_field_of_another_type_is_refused_with_the_file(path: tuple[str, ...], name: str, value: object) -> None:
    damaged = content()
    part_of(damaged, path)[name] = value
    with pytest.raises(RunFolderError, match=r"^somewhere/run\.json: "):
        RunRecord.from_dict(damaged, "somewhere/run.json")


@given(st.data())
def test_any_other_value_is_read_or_refused_but_never_another_error(data: st.DataObject) -> None:
    damaged = content()
    path, name = data.draw(st.sampled_from(FIELDS))
    part_of(damaged, path)[name] = data.draw(VALUES)
    with suppress(RunFolderError):
        # What was read can be written again, and is strict JSON.
        json.dumps(RunRecord.from_dict(damaged, "run.json").as_dict(), allow_nan=False)


@pytest.mark.parametrize("number", [1, FORMAT + 1, "2", None])
def test_a_record_of_another_format_is_refused_with_the_version_that_wrote_it(number: object) -> None:
    other = {**content(), "format": number, "fedwalk": "9.8.7"}
    with pytest.raises(
        RunFolderError, match=rf"run\.json: was written by fedwalk 9\.8\.7 in format {number}; fedwalk "
    ):
        RunRecord.from_dict(other, "run.json")


def test_a_record_of_an_unreleased_version_with_the_same_number_says_so() -> None:
    older = {**content(), "format": 1, "fedwalk": __version__}
    with pytest.raises(RunFolderError, match=rf"by fedwalk {__version__} before its release in format 1; fedwalk "):
        RunRecord.from_dict(older, "run.json")


def test_a_record_without_a_format_is_of_the_first() -> None:
    older = content()
    del older["format"], older["fedwalk"]
    with pytest.raises(
        RunFolderError, match=rf"of an unknown version in format 1; fedwalk {__version__} reads format 3"
    ):
        RunRecord.from_dict(older, "run.json")
