"""Runs a protocol on a graph: in memory (`run`), or into a run folder that can be resumed (`embed_to_folder`).

All releases of a run are entered in the ledger before its first stage, so a budget is checked before anything is sent.
"""

import hashlib
import math
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedwalk._version import __version__
from fedwalk.embedding import Embedding
from fedwalk.errors import BudgetError, FedWalkWarning, InputError, ProtocolError
from fedwalk.graph import Graph
from fedwalk.privacy.ledger import Ledger, Release
from fedwalk.protocols.base import Protocol
from fedwalk.protocols.registry import OURS, find_protocol, package_of
from fedwalk.protocols.stages import WALKS, Vectors
from fedwalk.protocols.transcript import Transcript
from fedwalk.protocols.walks import Walks
from fedwalk.run.folder import (
    EMBEDDING_FILE,
    RECORD_FILE,
    TREE_FILE,
    WALKS_FILE,
    RunFolder,
    open_run_folder,
    write_arrays,
)
from fedwalk.run.ledger_file import check_ledger_path, read_ledger, update_ledger
from fedwalk.run.record import GraphFacts, RunRecord, WalkFacts, read_run, write_record
from fedwalk.run.stages import StageProgress, StageRunner, peak_rss_bytes
from fedwalk.settings import Settings
from fedwalk.util.text import counted


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """A finished run: the embedding, the resolved settings, and the value and account of every stage.

    Stages number only the vertices that took part; `taking_part` has the ids of these vertices in the graph.
    """

    embedding: Embedding
    settings: Settings
    stages: StageRunner
    taking_part: NDArray[np.int64]
    ledger: Ledger

    @property
    def walks(self) -> Walks:
        """The walks that the vectors were trained on; empty for a spectral embedding."""
        if self.stages.has(WALKS):
            return self.stages.get(WALKS)
        return Walks(np.empty((0, self.settings.walk_length), np.int32), 0)


def run(graph: Graph, settings: Settings, stages: StageRunner | None = None, earlier: Ledger | None = None) -> Run:
    """Run the protocol on the graph; vertices that don't take part get the zero vector.

    `earlier` has what the devices released in other runs, which counts towards the budget.
    """
    check_graph(graph)
    protocol = find_protocol(settings.protocol)
    active, taking_part = participants(graph, settings)
    settings = settings.resolve(active.vertices)
    for note in _notes(graph, settings, active.vertices):
        warnings.warn(note, FedWalkWarning, stacklevel=2)
    stages = stages if stages is not None else StageRunner()
    ledger = enter_releases(graph, settings, earlier)
    stages.transcript = Transcript.of(protocol.messages)
    vectors = np.zeros((graph.vertices, settings.dim), np.float32)
    vectors[taking_part] = _checked(protocol.simulate(active, settings, stages), (active.vertices, settings.dim))
    # Names are an array of checked names already; a list of them would be checked again, one by one.
    nodes = graph.names if graph.objects is None else graph.objects
    return Run(Embedding(nodes, vectors), settings, stages, taking_part, ledger)


def _checked(vectors: Vectors, shape: tuple[int, int]) -> Vectors:
    """The vectors that a protocol has computed, which may come from another package's code."""
    if np.shape(vectors) != shape or not np.isfinite(vectors).all():
        raise ProtocolError(
            f"the protocol returned vectors of the shape {np.shape(vectors)}; expected {shape}, all finite. This is a "
            "fault of the protocol: report it to those who maintain it."
        )
    return vectors


def participants(graph: Graph, settings: Settings) -> tuple[Graph, NDArray[np.int64]]:
    """The graph of the vertices that take part, and their ids."""
    all_take_part = find_protocol(settings.protocol).isolated_take_part
    return (graph, np.arange(graph.vertices)) if all_take_part else graph.active()


def enter_releases(graph: Graph, settings: Settings, earlier: Ledger | None = None) -> Ledger:
    """Return a ledger with all releases of the run added to the earlier ones; BudgetError if they exceed the budget."""
    ledger = Ledger(settings.budget, dict(earlier.releases) if earlier else {})
    releases = dict(_releases(graph, settings))
    _check_bounded(settings, [release for name, release in releases.items() if name not in ledger.releases])
    for name, release in releases.items():
        ledger.spend(name, release)
    return ledger


def _check_bounded(settings: Settings, releases: list[Release]) -> None:
    """Refuse a budget if a release has no bound, before a bounded one is refused with the advice to lower epsilon."""
    unbounded = next((release for release in releases if math.isinf(release.per_edge)), None)
    if settings.budget is None or unbounded is None:
        return
    protocol = find_protocol(settings.protocol)
    whatever = " whatever epsilon is" if "epsilon" in protocol.reads else ""
    proved = [name for name in OURS if find_protocol(name).privacy(Settings(protocol=name), True).epsilon is not None]
    raise BudgetError(
        f"budget = {settings.budget:g}: the privacy loss of protocol {protocol.name} is unbounded{whatever} "
        f"({unbounded.what}: {unbounded.why}), so no budget allows it. Nothing was sent. Use a protocol with proved "
        f"privacy ({', '.join(proved)}), or leave out --budget."
    )


def _releases(graph: Graph, settings: Settings) -> Iterator[tuple[str, Release]]:
    """The releases of the run, by name."""
    protocol = find_protocol(settings.protocol)
    # A run with the same graph, settings and seed sends the same messages, so it gets the same name and costs nothing
    # again. The versions of fedwalk and of the package that brings the protocol are part of the name, because another
    # version may draw other noise from the same seed.
    versions = " ".join(filter(None, (__version__, package_of(protocol.name))))
    # Weights that the protocol doesn't use change no message.
    fingerprint = graph.fingerprint(weights=protocol.uses_weights)
    asked = [versions, fingerprint, settings.seed, settings.epsilon, *settings.own]
    asked += [settings.value(name) for name in protocol.release_settings]
    run_name = hashlib.sha256(repr(asked).encode()).hexdigest()[:16]
    for phase, release in protocol.releases(settings):
        yield f"{protocol.name} {run_name} {phase}", release


def _notes(graph: Graph, settings: Settings, num_active: int) -> Iterator[str]:
    """What is unusual about this run, without being an error."""
    protocol = find_protocol(settings.protocol)
    if graph.isolated and not protocol.isolated_take_part:
        isolated = counted(graph.isolated, "isolated vertex takes", "isolated vertices take")
        yield f"{isolated} no part: no walks, zero vectors."
    if graph.weights is not None and not protocol.uses_weights:
        yield f"the graph's edges have weights, which protocol {protocol.name} doesn't use: all edges count alike."
    yield from protocol.notes(settings, num_active)


def check_graph(graph: Graph) -> None:
    """Raise InputError for a graph on which no walk can take a step."""
    if graph.vertices < 2:
        size = counted(graph.vertices, "vertex", "vertices")
        raise InputError(f"the graph has {size}: an embedding needs at least two, joined by an edge.")
    if graph.edges == 0:
        raise InputError(f"the graph has {graph.vertices} vertices and no edges: no walk can take a step.")


def embed_to_folder(
    graph: Graph,
    settings: Settings,
    path: Path,
    *,
    force: bool = False,
    resume: bool = False,
    keep_walks: bool = False,
    on_progress: StageProgress | None = None,
    load_seconds: float = 0.0,
    inputs: dict[str, str | None] | None = None,
    ledger: Path | None = None,
) -> RunRecord:
    """Run the protocol, store each finished stage, and write the results; returns the record that run.json contains.

    `ledger` is a file with what the same devices released before; this run is added to it before anything is sent.
    """
    began = time.perf_counter()
    check_graph(graph)
    settings = settings.resolve(participants(graph, settings)[0].vertices)
    done = resume and (path / RECORD_FILE).exists()
    # A finished run has already sent everything: its releases are entered even if they exceed the current budget.
    enter = partial(enter_releases, graph, replace(settings, budget=None) if done else settings)
    # The budget and the ledger's path are checked before the folder changes, so that a refused run leaves no trace.
    check_ledger_path(ledger, path)
    earlier = read_ledger(ledger) if ledger else None
    enter(earlier)
    interrupted = open_run_folder(path, force=force, resume=resume)
    folder = RunFolder(path, graph.fingerprint())
    if done:
        record = _finished_record(folder, settings)
    elif interrupted:
        folder.check_resumable(settings)
    else:
        folder.begin(settings, inputs)
    if ledger:
        # Read again under the file's lock: another run may have added its releases since the check above.
        update_ledger(ledger, enter)
    if done:
        return record
    stages = StageRunner(store=folder, on_progress=on_progress)
    seconds_before = sum(stages.seconds().values())
    finished = run(graph, settings, stages, earlier)
    write_results(graph, finished, path, keep_walks)
    seconds = {"load": load_seconds, **stages.seconds()}
    seconds["total"] = load_seconds + seconds_before + time.perf_counter() - began
    record = make_record(graph, finished, seconds, inputs or {})
    write_record(path, record)
    folder.drop_progress()
    return record


def _details(protocol: Protocol, stages: StageRunner) -> dict[str, float]:
    """The protocol's own numbers, as JSON can hold them; numpy's are converted, others than finite ones left out."""
    numbers = {name: np.asarray(value).item() for name, value in protocol.describe(stages).items()}
    return {name: value for name, value in numbers.items() if math.isfinite(value)}


def _finished_record(folder: RunFolder, settings: Settings) -> RunRecord:
    """The record of the finished run in the folder; RunFolderError if its graph or settings are others."""
    record = read_run(folder.path)
    folder.check_same(record.graph.fingerprint, record.package, Settings.from_mapping(record.settings), settings)
    folder.drop_progress()
    return record


def write_results(graph: Graph, finished: Run, path: Path, keep_walks: bool) -> None:
    """Write the embedding, the tree with its leaves' names, and on request the walks, as rows of the embedding."""
    embedding = finished.embedding
    origin = np.array("simulation")
    arrays = {"nodes": embedding.names, "vectors": embedding.vectors, "origin": origin}
    write_arrays(path / EMBEDDING_FILE, arrays)
    stage = find_protocol(finished.settings.protocol).tree
    if stage is not None and finished.stages.has(stage):
        linkage = finished.stages.get(stage).linkage
        write_arrays(path / TREE_FILE, {"linkage": linkage, "nodes": graph.names[finished.taking_part]})
    if keep_walks and len(finished.walks.sequences):
        sequences, taking_part = finished.walks.sequences, finished.taking_part
        all_take_part = taking_part.size == graph.vertices
        write_arrays(path / WALKS_FILE, sequences if all_take_part else taking_part.astype(np.int32)[sequences])


def make_record(graph: Graph, finished: Run, seconds: dict[str, float], inputs: dict[str, str | None]) -> RunRecord:
    """The record of a simulated run."""
    settings, stages = finished.settings, finished.stages
    protocol = find_protocol(settings.protocol)
    privacy = protocol.privacy(settings, True)
    expected_hops = protocol.expected_hops(settings) if protocol.expected_hops else None
    return RunRecord(
        protocol=protocol.name,
        package=package_of(protocol.name),
        simulation=True,
        input=inputs,
        graph=GraphFacts.of(graph),
        settings=settings.as_dict(),
        seconds=seconds,
        peak_rss_bytes=peak_rss_bytes(),
        peak_rss_by_stage=stages.peaks(),
        messages=stages.total(),
        walks=WalkFacts.of(finished.walks, expected_hops),
        epsilon=privacy.epsilon,
        nominal_epsilon=privacy.nominal_epsilon,
        privacy=privacy.verdict,
        ledger=finished.ledger,
        details=_details(protocol, stages),
    )
