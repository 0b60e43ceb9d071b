"""The record of a run: everything that run.json holds, as a typed value.

run.json is written last, so a folder that has one holds a finished run. Its format has a number. A file of another
format is refused with an error that names the version that wrote it.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import NoneType
from typing import Any

from numpy.typing import NDArray

from fedwalk._version import __version__
from fedwalk.errors import InputError, RunFolderError
from fedwalk.graph import Graph
from fedwalk.privacy.ledger import Ledger
from fedwalk.protocols.base import Fact
from fedwalk.protocols.registry import known_protocol
from fedwalk.protocols.transcript import Transcript
from fedwalk.protocols.walks import Walks
from fedwalk.run.folder import RECORD_FILE, read_json_object, write_text, written_by

FORMAT = 3
"""Formats before 3 were written before 0.1.0 was released: 1 had no number, 2 had settings that the run didn't read."""


@dataclass(frozen=True, slots=True)
class GraphFacts:
    """The graph of a run. In a federation, numbers that the server isn't told are None."""

    vertices: int
    edges: int | None
    isolated: int | None
    fingerprint: str
    notes: tuple[str, ...] = ()
    cleaning: Mapping[str, int | bool] = field(default_factory=dict)

    @classmethod
    def of(cls, graph: Graph) -> "GraphFacts":
        """The facts about a graph."""
        cleaning = asdict(graph.cleaning)
        return cls(graph.vertices, graph.edges, graph.isolated, graph.fingerprint(), tuple(graph.notes), cleaning)


def graph_of_run(graph: Graph, record: "RunRecord", names: NDArray[Any], origin: str) -> Graph:
    """The graph with its vertices in the order of the run's vectors; InputError if it isn't the graph of this run."""
    arranged = graph.arranged(names)
    same_vertices = arranged.names.astype(str).tolist() == names.astype(str).tolist()
    if not same_vertices or arranged.fingerprint() != record.graph.fingerprint:
        what = "its fingerprint differs" if same_vertices else "it has other vertices than the vectors"
        # Another column of weights makes another graph of the same file.
        columns = [
            f"--{name} {record.input[name]}" for name in ("source", "target", "weight") if record.input.get(name)
        ]
        hint = f" It was read with {' '.join(columns)}." if columns else ""
        raise InputError(f"{origin}: isn't the graph of this run ({what}). Give the graph that was embedded.{hint}")
    return arranged


@dataclass(frozen=True, slots=True)
class WalkFacts:
    """The number of walks, and how often each was sent to another device; None if the protocol doesn't do that."""

    count: int
    length: int
    hops_per_walk: float | None = None
    expected_hops_per_walk: float | None = None

    @classmethod
    def of(cls, walks: Walks, expected_hops: float | None) -> "WalkFacts":
        """The facts about finished walks."""
        count, length = walks.sequences.shape
        return cls(count, length, None if expected_hops is None else walks.hops_per_walk, expected_hops)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """Everything that run.json contains about a finished run: what ran, what it cost, and what it released.

    Parameters
    ----------
    protocol, package, settings
        The protocol's name, the package that brings it with its version (empty for fedwalk), and every setting by name.
    simulation
        Whether any device was simulated, so that its noise came from a seed.
    input
        The graph's file and format, if they are known.
    seconds, peak_rss_bytes, peak_rss_by_stage
        Seconds per stage and in `total`; the peak memory of the process.
    messages
        Messages and bytes per phase.
    epsilon, nominal_epsilon, privacy
        The proved ε per edge of the run, or an ε that only scales noise, and the verdict in words.
    details
        Numbers that only this protocol has.
    federation
        For a federated run: which holders took part, what was lost, what was refused.
    """

    protocol: str
    simulation: bool
    graph: GraphFacts
    settings: Mapping[str, Any]
    seconds: Mapping[str, float]
    peak_rss_bytes: int | None
    peak_rss_by_stage: Mapping[str, int]
    messages: Transcript
    walks: WalkFacts
    epsilon: float | None
    nominal_epsilon: float | None
    privacy: str
    ledger: Ledger
    input: Mapping[str, str | None] = field(default_factory=dict)
    details: Mapping[str, float] = field(default_factory=dict)
    federation: Mapping[str, Any] | None = None
    package: str = ""
    version: str = __version__

    def as_dict(self) -> dict[str, Any]:
        """The content of run.json."""
        graph = {**asdict(self.graph), **self.graph.cleaning, "notes": list(self.graph.notes)}
        del graph["cleaning"]
        return {
            "fedwalk": self.version,
            "format": FORMAT,
            "protocol": self.protocol,
            "package": self.package,
            "simulation": self.simulation,
            "input": dict(self.input),
            "graph": graph,
            "settings": dict(self.settings),
            "seconds": dict(self.seconds),
            "peak_rss_bytes": self.peak_rss_bytes,
            "peak_rss_by_stage": dict(self.peak_rss_by_stage),
            "messages": self.messages.as_dict(),
            "walks": asdict(self.walks),
            "epsilon": self.epsilon,
            "nominal_epsilon": self.nominal_epsilon,
            "privacy": self.privacy,
            "ledger": self.ledger.as_dict(),
            "details": dict(self.details),
            **({} if self.federation is None else {"federation": dict(self.federation)}),
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any], origin: str) -> "RunRecord":
        """The record that `as_dict` described; RunFolderError if it is of another format or damaged."""
        check_format(content, origin)
        try:
            return _parse(_Part(content, ""), origin)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            reason = str(error) if isinstance(error, ValueError) else repr(error)
            raise RunFolderError(f"{origin}: isn't what fedwalk wrote ({reason}). Start again with --force.") from error


def check_format(content: Mapping[str, Any], origin: str) -> None:
    """Refuse a record of another format, naming the version that wrote it."""
    number = content.get("format", 1)
    if number != FORMAT:
        raise RunFolderError(
            f"{origin}: was written by fedwalk {written_by(content)} in format "
            f"{number!s:.20}; fedwalk {__version__} reads format {FORMAT}. Use that version, or run again with --force."
        )


@dataclass(frozen=True, slots=True)
class _Part:
    """An object within run.json; ValueError names what it lacks and what has the wrong type."""

    content: dict[str, Any]
    name: str

    def value(self, name: str, *kinds: type) -> Any:
        """The value of this name, which must be of one of these types."""
        where = f" in {self.name!r}" if self.name else ""
        if name not in self.content:
            raise ValueError(f"has no {name!r}{where}")
        value = self.content[name]
        # Not `isinstance`, for which True is a number.
        if type(value) not in kinds:
            expected = " or ".join("null" if kind is NoneType else kind.__name__ for kind in kinds)
            raise ValueError(f"{name!r}{where} is {str(value)[:40]!r}, not {expected}")
        # JSON has no infinities and no NaN, but Python's parser accepts both.
        if kinds[0] is float and value is not None and not math.isfinite(value):
            raise ValueError(f"{name!r}{where} is {value}, not a finite number")
        return value

    def number(self, name: str) -> float:
        """A finite number."""
        return float(self.value(name, float, int))

    def optional_number(self, name: str) -> float | None:
        """A finite number, or None."""
        value = self.value(name, float, int, NoneType)
        return None if value is None else float(value)

    def part(self, name: str) -> "_Part":
        """An object within this one."""
        return _Part(self.value(name, dict), name)

    def values(self, name: str, *kinds: type) -> dict[str, Any]:
        """An object within this one, whose values are all of one of these types."""
        part = self.part(name)
        return {key: part.value(key, *kinds) for key in part.content}

    def numbers(self, name: str) -> dict[str, float]:
        """An object within this one, whose values are all finite numbers."""
        part = self.part(name)
        return {key: part.number(key) for key in part.content}


def _parse(record: _Part, origin: str) -> RunRecord:
    walks = record.part("walks")
    # Pages and tables read these two without asking whether they are there.
    record.part("settings").value("protocol", str)
    record.part("seconds").number("total")
    return RunRecord(
        protocol=record.value("protocol", str),
        package=record.value("package", str),
        simulation=record.value("simulation", bool),
        graph=_parse_graph(record.part("graph")),
        settings=record.part("settings").content,
        seconds=record.numbers("seconds"),
        peak_rss_bytes=record.value("peak_rss_bytes", int, NoneType),
        peak_rss_by_stage=record.values("peak_rss_by_stage", int),
        messages=Transcript.from_dict(record.part("messages").content),
        walks=WalkFacts(
            walks.value("count", int), walks.value("length", int), walks.optional_number("hops_per_walk"),
            walks.optional_number("expected_hops_per_walk"),
        ),
        epsilon=record.optional_number("epsilon"),
        nominal_epsilon=record.optional_number("nominal_epsilon"),
        privacy=record.value("privacy", str),
        ledger=Ledger.from_dict(
            record.part("ledger").content, origin, record.part("ledger").optional_number("budget")
        ),
        input=record.values("input", str, NoneType),
        details=record.numbers("details"),
        federation=_parse_federation(record),
        version=record.value("fedwalk", str),
    )  # fmt: skip


def _parse_graph(graph: _Part) -> GraphFacts:
    named = ("vertices", "edges", "isolated", "fingerprint", "notes")
    notes = graph.value("notes", list) if "notes" in graph.content else []
    if not all(type(note) is str for note in notes):
        raise ValueError("'notes' in 'graph' has an entry that is no str")
    return GraphFacts(
        graph.value("vertices", int), graph.value("edges", int, NoneType), graph.value("isolated", int, NoneType),
        graph.value("fingerprint", str), tuple(notes),
        {name: graph.value(name, int, bool) for name in graph.content if name not in named},
    )  # fmt: skip


def _parse_federation(record: _Part) -> dict[str, Any] | None:
    """The federation's part as it is: its numbers are the federation's own, and only the holders are checked."""
    if "federation" not in record.content:
        return None
    federation = record.part("federation")
    federation.value("holders", dict)
    federation.value("lost", dict)
    return federation.content


def facts_of(record: RunRecord) -> tuple[Fact, ...]:
    """Facts that only the run's protocol has; none if the protocol isn't installed here, or can't read its numbers."""
    protocol = known_protocol(record.protocol)
    if protocol is None or not record.details:
        return ()
    try:
        return tuple(protocol.facts(record.details))
    except Exception:  # another package's code, perhaps of another version than that which made the run
        return ()


def write_record(folder: Path, record: RunRecord) -> None:
    """Write run.json, which marks the run as finished."""
    write_text(folder / RECORD_FILE, json.dumps(record.as_dict(), indent=2, ensure_ascii=False) + "\n")


def read_run(folder: Path) -> RunRecord:
    """Read the record of a finished run."""
    path = folder / RECORD_FILE
    if not path.exists():
        raise RunFolderError(
            f"{folder}: holds no finished run (no {RECORD_FILE}). Name a run folder, as `fedwalk embed`, `fedwalk "
            "demo` and `fedwalk federate run` write it."
        )
    return RunRecord.from_dict(read_json_object(path), str(path))
