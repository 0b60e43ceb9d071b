"""Runs a protocol over the holders and writes the results into a run folder; an interrupted run can be resumed."""

import secrets
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from fedwalk.errors import InputError, SettingsError
from fedwalk.federation.membership.roster import Roster
from fedwalk.federation.server.coordinator import Coordinator, HolderChannel
from fedwalk.federation.server.fleet import HolderFleet
from fedwalk.federation.server.statistics import FederationFacts, RunStatistics
from fedwalk.federation.shared_files import read_refusals
from fedwalk.graph.names import is_integer
from fedwalk.privacy.ledger import Ledger
from fedwalk.protocols.federated import FederatedEmbedding
from fedwalk.protocols.registry import federated_protocols, find_protocol
from fedwalk.protocols.stages import WALKS, Stage
from fedwalk.protocols.walks import Walks
from fedwalk.run.folder import (
    EMBEDDING_FILE,
    PROGRESS,
    STATISTICS_FILE,
    TREE_FILE,
    WALKS_FILE,
    RunFolder,
    open_run_folder,
    write_arrays,
)
from fedwalk.run.record import GraphFacts, RunRecord, WalkFacts, write_record
from fedwalk.run.stages import StageProgress, StageRunner, peak_rss_bytes
from fedwalk.settings import Settings

EVENTS = "progress.jsonl"
"""The file in the run folder to which the server writes its progress."""
ORIGIN = "# A federation: the holders drew their noise on their own machines.\n"


def federate_to_folder(
    channel: HolderChannel,
    roster: Roster,
    settings: Settings,
    path: Path,
    *,
    patience: float,
    resume: bool = False,
    keep_walks: bool = False,
    refusals: Path | None = None,
    min_holders: int = 1,
    on_progress: StageProgress | None = None,
) -> RunRecord:
    """Run the protocol over the holders, store every finished stage, write the results; returns the run record.

    Parameters
    ----------
    channel, roster
        How to reach the holders, and the roster.
    patience
        Seconds that a holder may be away, or silent, before the run goes on without it.
    resume
        Continue an interrupted run in this folder.
    keep_walks
        Also write the walks.
    refusals
        The file in which the server's port counts the requests that it refused.
    min_holders
        Stop after the roll call, before anything else is asked, if fewer holders answer.
    """
    began = time.perf_counter()
    check_settings(settings)
    interrupted = open_run_folder(path, force=False, resume=resume)
    # In place of a graph's fingerprint: a run can't be resumed after devices were added.
    folder = RunFolder(path, roster.digest())
    statistics_file = path / PROGRESS / STATISTICS_FILE
    if interrupted:
        folder.check_resumable(settings)
    else:
        folder.begin(settings, origin=ORIGIN)
    # Listed before it is written, so that it is removed with the other files of the run.
    folder.claim(statistics_file.name)
    # A resumed run keeps its name, so that the holders recognise questions that they have answered before.
    if interrupted and statistics_file.exists():
        statistics = RunStatistics.load(statistics_file)
    else:
        statistics = RunStatistics(secrets.token_hex(16), patience=patience)
    # Before the first question: under another name, holders wouldn't recognise questions that they have answered.
    statistics.save(statistics_file)
    stages = StageRunner(store=_StatisticsStore(folder, statistics, statistics_file), on_progress=on_progress)
    # Seconds of the stages that were finished before an interrupt count towards the total.
    before = sum(stages.seconds().values())
    coordinator = Coordinator(channel, roster, statistics, stages.transcript, min_holders)
    embedding = federated_protocols()[settings.protocol].run(HolderFleet(coordinator), settings, stages)
    _write_results(path, roster, embedding, stages, simulated=bool(statistics.simulated), keep_walks=keep_walks)
    statistics.refused_by_server = _refused_by_server(refusals)
    seconds = {**stages.seconds(), "total": before + time.perf_counter() - began}
    record = make_record(roster, embedding, stages, statistics, seconds)
    # After the other results: a reader that finds run.json can rely on the rest.
    write_record(path, record)
    folder.drop_progress()
    return record


def _refused_by_server(path: Path | None) -> Counter[str]:
    """Read what the server's port refused. If the file is damaged, say so, but keep the finished run."""
    try:
        return Counter(read_refusals(path) if path else {})
    except InputError as error:
        return Counter({f"unreadable file ({error})": 1})


def check_settings(settings: Settings) -> None:
    """Refuse settings that only a simulation supports."""
    if settings.protocol not in federated_protocols():
        able = " or ".join(federated_protocols())
        raise SettingsError(f"protocol = {settings.protocol}: a federation runs {able}.")
    if settings.runtime != "local":
        raise SettingsError(
            f"runtime = {settings.runtime}: only simulations have a runtime; in a federation leave it at local."
        )
    if settings.budget is not None:
        raise SettingsError("budget: in a federation each owner sets the budget of a holder, in its holder.toml.")


class _StatisticsStore:
    """The run folder as a store of stages that saves the statistics with every finished stage."""

    def __init__(self, folder: RunFolder, statistics: RunStatistics, path: Path) -> None:
        self.finished, self.has, self.load = folder.finished, folder.has, folder.load
        self._save: Callable[..., None] = folder.save
        self._statistics, self._path = statistics, path

    def save(self, stage: Stage[Any], value: Any, account: Any) -> None:
        """Save the statistics first: a finished stage must never be on the disk without the losses that it had."""
        self._statistics.save(self._path)
        self._save(stage, value, account)


def _write_results(
    path: Path, roster: Roster, embedding: FederatedEmbedding, stages: StageRunner, *, simulated: bool, keep_walks: bool
) -> None:
    """Write the embedding, the tree if the protocol has one, and the walks if they are wanted."""
    names = _names(roster)
    origin = np.array("simulated federation" if simulated else "federation")
    arrays = {"nodes": names[embedding.devices], "vectors": embedding.vectors, "origin": origin}
    write_arrays(path / EMBEDDING_FILE, arrays)
    tree = find_protocol(embedding.settings.protocol).tree
    if tree is not None and embedding.leaves is not None:
        linkage = stages.get(tree).linkage
        write_arrays(path / TREE_FILE, {"linkage": linkage, "nodes": names[embedding.leaves]})
    if keep_walks and stages.has(WALKS):
        write_arrays(path / WALKS_FILE, stages.get(WALKS).sequences)


def _names(roster: Roster) -> Any:
    """The names of the vertices as an embedding stores them: integers if all of them are."""
    names = list(roster.names)
    return np.array([int(name) for name in names]) if all(map(is_integer, names)) else np.array(names, str)


def make_record(
    roster: Roster,
    embedding: FederatedEmbedding,
    stages: StageRunner,
    statistics: RunStatistics,
    seconds: dict[str, float],
) -> RunRecord:
    """The record of the run. What the server isn't told is None."""
    settings, simulated = embedding.settings, bool(statistics.simulated)
    protocol = find_protocol(settings.protocol)
    privacy = protocol.privacy(settings, simulated)
    # For a run without walks, such as a spectral embedding in `ldp`.
    no_walks = Walks(np.empty((0, settings.walk_length), np.int32), 0)
    return RunRecord(
        protocol=protocol.name,
        simulation=simulated,
        # The server is told neither the number of edges nor that of isolated vertices.
        graph=GraphFacts(len(roster.names), None, None, roster.digest()),
        # Only a simulation has a runtime.
        settings={name: value for name, value in settings.as_dict().items() if name != "runtime"},
        seconds=seconds,
        peak_rss_bytes=peak_rss_bytes(),
        peak_rss_by_stage=stages.peaks(),
        messages=stages.total(),
        walks=WalkFacts.of(
            stages.get(WALKS) if stages.has(WALKS) else no_walks,
            protocol.expected_hops(settings) if protocol.expected_hops else None,
        ),
        epsilon=privacy.epsilon,
        nominal_epsilon=privacy.nominal_epsilon,
        privacy=privacy.verdict,
        ledger=_ledger(settings, statistics),
        details=protocol.describe(stages),
        federation=FederationFacts(int(embedding.devices.size), statistics).as_dict(),
    )


def _ledger(settings: Settings, statistics: RunStatistics) -> Ledger:
    """What this run released, as far as the server knows. Only the holders' own ledgers add up over runs."""
    ledger = Ledger()
    for phase, release in find_protocol(settings.protocol).releases(settings):
        ledger.spend(f"{settings.protocol} {statistics.run} {phase}", release)
    return ledger
