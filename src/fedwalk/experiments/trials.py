"""Trials: runs of an experiment, scored and cached on disk so that nothing is computed twice.

A trial's file is named by a digest of what its numbers depend on: the graph, its labels, the settings, the splits and
the version. The number of threads is left out: SkipGram's threads update the vectors without locks (Hogwild), which
changes scores only within the spread of repeated runs. Trials with the same seed, k and ε run one after the other and
share the tree and the encoder's table.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from fedwalk import __version__
from fedwalk.embedding import Embedding
from fedwalk.evaluation import LinkSplit, evaluate, score_links, split_edges
from fedwalk.experiments.setup import Setup
from fedwalk.graph import Graph
from fedwalk.protocols.paper.messages import Token
from fedwalk.protocols.paper.stages import BINS, ENCODER, TREE, VECTORS
from fedwalk.run.execute import run
from fedwalk.run.folder import write_text
from fedwalk.run.stages import StageRunner
from fedwalk.settings import Settings
from fedwalk.util.parallel import Progress, silent

TREE_STAGES = tuple(stage.name for stage in (BINS, VECTORS, TREE, ENCODER))
"""Stages whose values trials can share, because they don't depend on the walks."""
LINK_METHODS = ("hadamard", "cosine")


@dataclass(frozen=True, slots=True)
class Trial:
    """Settings to run, and what to score: labels at some T_R, or edges if a share of them is `held_out`."""

    settings: Settings
    ratios: tuple[float, ...] = ()
    held_out: float = 0.0


@dataclass(frozen=True, slots=True)
class Measured:
    """The numbers of a trial: scores by name, e.g. "micro_f1@0.6", hops per walk and their bytes."""

    scores: dict[str, float]
    hops_per_walk: float
    hop_bytes_per_walk: float
    seconds: float


def plan(trials: Iterable[Trial]) -> list[Trial]:
    """Merge trials with the same settings, and order them so that those that share a tree are adjacent."""
    merged: dict[tuple[Settings, float], set[float]] = {}
    for trial in trials:
        merged.setdefault((trial.settings, trial.held_out), set()).update(trial.ratios)
    joined = [Trial(settings, tuple(sorted(ratios)), held) for (settings, held), ratios in merged.items()]
    return sorted(joined, key=lambda trial: (trial.held_out, _tree_key(trial.settings), trial.settings.num_walks))


def _tree_key(settings: Settings) -> tuple[Any, ...]:
    return (settings.protocol, settings.seed, settings.num_bins or 0, settings.epsilon, settings.tree, settings.encoder)


def labels_digest(graph: Graph) -> str | None:
    """SHA-256 of a graph's labels, which its fingerprint doesn't cover; None if it has none."""
    if graph.labels is None:
        return None
    digest = hashlib.sha256("\0".join(graph.labels.names).encode("utf-8", "surrogatepass"))
    for array in (graph.labels.indicator.indptr, graph.labels.indicator.indices):
        digest.update(array.astype("<i8").tobytes())
    return digest.hexdigest()


class Trials:
    """Runs the trials of a setup; `folder` caches their numbers."""

    def __init__(self, setup: Setup, folder: Path) -> None:
        self._setup, self._folder = setup, folder
        self._fingerprint = setup.graph.fingerprint()
        self._labels = labels_digest(setup.graph)
        # Only the last tree and the last split are kept, to save memory; `plan` orders the trials accordingly.
        self._shared: tuple[Any, dict[str, Any]] = (None, {})
        self._training: dict[tuple[float, int], LinkSplit] = {}

    def measure(
        self, trials: Iterable[Trial], on_progress: Progress = silent
    ) -> dict[tuple[Settings, float], Measured]:
        """The numbers of every trial, read from its file or else measured now."""
        planned = plan(trials)
        # Rough costs for the progress bar: the tree, the walks, and the scoring at each ratio.
        work = [10 + trial.settings.num_walks + 10 * len(trial.ratios) for trial in planned]
        measured, done = {}, 0
        on_progress(0, sum(work))
        for trial, cost in zip(planned, work, strict=True):
            measured[trial.settings, trial.held_out] = self._read(trial) or self._run(trial)
            done += cost
            on_progress(done, sum(work))
        return measured

    def _file(self, trial: Trial) -> Path:
        # Without `threads`, which changes scores only within the spread of repeated runs.
        identity = {
            "fedwalk": __version__, "graph": self._fingerprint, "labels": self._labels, "splits": self._setup.splits,
            "held_out": trial.held_out, **replace(trial.settings, threads=None).as_dict(),
        }  # fmt: skip
        digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]
        return self._folder / f"{digest}.json"

    def _read(self, trial: Trial) -> Measured | None:
        """The cached numbers, or None if a requested one is missing."""
        cached = self._cached(trial)
        complete = cached is not None and all(f"micro_f1@{ratio:g}" in cached.scores for ratio in trial.ratios)
        return cached if complete else None

    def _cached(self, trial: Trial) -> Measured | None:
        """What the trial's file holds; None if there is none, or if it is damaged."""
        try:
            record = json.loads(self._file(trial).read_text(encoding="utf-8"))
            return Measured(**record["measured"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _run(self, trial: Trial) -> Measured:
        """Run and score a trial, and write its file."""
        graph, settings = self._graph(trial), trial.settings
        stages = StageRunner()
        # Without some of its edges the graph has another tree.
        key = (trial.held_out, _tree_key(settings))
        if self._shared[0] == key:
            # A stage that has its value already isn't run.
            stages.values.update(self._shared[1])
        finished = run(graph, replace(settings, threads=self._setup.threads), stages)
        self._shared = key, {name: stages.values[name] for name in TREE_STAGES if name in stages.values}
        # Only protocol `paper` has tokens.
        hops = stages.total().traffic.get(Token.phase)
        # The file may have the scores of ratios that another figure requested.
        cached = self._cached(trial)
        measured = Measured(
            {**(cached.scores if cached else {}), **self._score(trial, finished.embedding)},
            finished.walks.hops_per_walk,
            (hops.bytes if hops else 0) / max(1, len(finished.walks.sequences)),
            sum(stages.seconds().values()),
        )
        self._folder.mkdir(parents=True, exist_ok=True)
        record = {"settings": settings.as_dict(), "held_out": trial.held_out, "measured": asdict(measured)}
        write_text(self._file(trial), json.dumps(record, indent=1) + "\n")
        return measured

    def _graph(self, trial: Trial) -> Graph:
        return self._split(trial).training if trial.held_out else self._setup.graph

    def _split(self, trial: Trial) -> LinkSplit:
        key = trial.held_out, trial.settings.seed
        if key not in self._training:
            self._training = {key: split_edges(self._setup.graph, share=trial.held_out, seed=trial.settings.seed)}
        return self._training[key]

    def _score(self, trial: Trial, embedding: Embedding) -> dict[str, float]:
        if trial.held_out:
            links = {method: score_links(embedding, self._split(trial), method) for method in LINK_METHODS}
            return {
                f"{name}@{method}": getattr(score, name)
                for method, score in links.items()
                for name in ("auc", "average_precision")
            }
        if not trial.ratios:
            return {}
        setup = self._setup
        scores = evaluate(embedding, setup.graph, train_ratios=trial.ratios, splits=setup.splits, threads=setup.threads)
        return {
            f"{name}@{score.train_ratio:g}": getattr(score, name)
            for score in scores
            for name in ("micro_f1", "macro_f1")
        }
