"""Trials: runs of an experiment, scored and cached on disk so that nothing is computed twice.

A trial's file is named by a digest of what its numbers depend on: the graph and its labels, the settings, the rule and
number of splits of the evaluation, and the version. The number of threads is left out: SkipGram's threads update the
vectors without locks (Hogwild), which changes scores only within the spread of repeated runs. Trials of protocol
`paper` with the same seed, k and ε run one after the other and share the tree and the encoder's table; each counts the
messages and seconds of the shared stages as its own.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from fedwalk import __version__
from fedwalk.embedding import Embedding
from fedwalk.evaluation import LinkSplit, evaluate, score_links, split_edges
from fedwalk.experiments.setup import Setup
from fedwalk.graph import Graph
from fedwalk.protocols.paper.messages import Token
from fedwalk.protocols.paper.protocol import PROTOCOL as PAPER
from fedwalk.protocols.paper.stages import BINS, ENCODER, MATRICES, TREE, VECTORS
from fedwalk.protocols.registry import find_protocol, package_of
from fedwalk.run.execute import run
from fedwalk.run.folder import write_text
from fedwalk.run.stages import Account, StageProgress, StageRunner
from fedwalk.settings import Settings
from fedwalk.util.parallel import Progress, silent

TREE_STAGES = tuple(stage.name for stage in (BINS, VECTORS, TREE, ENCODER))
"""Stages whose values trials can share, because they don't depend on the walks."""
SHARED_COSTS = (*TREE_STAGES, MATRICES.name)
"""Stages that needn't run if those values are there. The matrices are needed only to compute the tree."""
AFTER_TREE = (
    "walk_length", "num_walks", "predict", "predictor", "burst", "embed", "dim", "window", "negative", "threads",
    "budget",
)  # fmt: skip
"""Settings that don't change those stages. Any other may, also one that is added later."""
LINK_METHODS = ("hadamard", "cosine")


@dataclass(frozen=True, slots=True)
class Trial:
    """Settings to run, and what to score: labels at some T_R, or edges if a share of them is `held_out`."""

    settings: Settings
    ratios: tuple[float, ...] = ()
    held_out: float = 0.0


@dataclass(frozen=True, slots=True)
class Measured:
    """The numbers of a trial: scores by name, e.g. "micro_f1@0.6", hops per walk, and the cost of the whole run."""

    scores: dict[str, float]
    hops_per_walk: float
    hop_bytes_per_walk: float
    seconds: float
    messages: int
    bytes: int


@dataclass(slots=True)
class _Shared:
    """Values and costs of the stages that the next trials may share."""

    key: Any = None
    values: dict[str, Any] = field(default_factory=dict)
    accounts: dict[str, Account] = field(default_factory=dict)


def plan(trials: Iterable[Trial]) -> list[Trial]:
    """Merge trials with the same settings, and order them so that those that share a tree are adjacent."""
    merged: dict[tuple[Settings, float], set[float]] = {}
    for trial in trials:
        merged.setdefault((trial.settings, trial.held_out), set()).update(trial.ratios)
    joined = [Trial(settings, tuple(sorted(ratios)), held) for (settings, held), ratios in merged.items()]
    return sorted(joined, key=lambda trial: (trial.held_out, _tree_key(trial.settings), trial.settings.num_walks))


def _tree_key(settings: Settings) -> tuple[str, ...]:
    """The settings that trials with the same tree must have in common."""
    # As text, because values of different types can't be sorted.
    return tuple(f"{name} {value}" for name, value in settings.as_dict().items() if name not in AFTER_TREE)


class Trials:
    """Runs the trials of a setup; `folder` caches their numbers."""

    def __init__(self, setup: Setup, folder: Path) -> None:
        self._setup, self._folder = setup, folder
        self._fingerprint = setup.graph.fingerprint()
        self._labels = labels_digest(setup.graph)
        # Only the last tree and the last split are kept, to save memory; `plan` orders the trials accordingly.
        self._shared = _Shared()
        self._training: dict[tuple[float, int], LinkSplit] = {}

    def measure(
        self, trials: Iterable[Trial], on_progress: Progress = silent
    ) -> dict[tuple[Settings, float], Measured]:
        """The numbers of every trial, read from its file or else measured now; progress is that of the latter."""
        planned = plan(trials)
        cached = {trial: self._read(trial) for trial in planned}
        missing = [trial for trial, numbers in cached.items() if numbers is None]
        # Rough costs for the progress bar: the tree, the walks, and the scoring at each ratio.
        work = [10 + trial.settings.num_walks + 10 * len(trial.ratios) for trial in missing]
        done = 0
        on_progress(0, sum(work))
        for trial, cost in zip(missing, work, strict=True):
            cached[trial] = self._run(trial, partial(_within, on_progress, done, cost, sum(work)))
            done += cost
            on_progress(done, sum(work))
        return {(trial.settings, trial.held_out): numbers for trial, numbers in cached.items() if numbers is not None}

    def count_missing(self, trials: Iterable[Trial]) -> int:
        """How many of the trials would have to run now."""
        return sum(self._read(trial) is None for trial in plan(trials))

    def _file(self, trial: Trial) -> Path:
        # Held-out edges are scored without labels.
        scoring = {} if trial.held_out else {
            "labels": self._labels, "splits": self._setup.splits, "rule": self._setup.rule,
        }  # fmt: skip
        # Without `threads`, which changes scores only within the spread of repeated runs.
        identity = {
            "fedwalk": __version__, "package": package_of(trial.settings.protocol), "graph": self._fingerprint,
            "held_out": trial.held_out, "scoring": scoring, "settings": replace(trial.settings, threads=None).as_dict(),
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

    def _run(self, trial: Trial, on_progress: Progress) -> Measured:
        """Run and score a trial, and write its file."""
        settings = trial.settings
        stages = StageRunner(on_progress=_over_stages(settings, on_progress))
        # Without some of its edges the graph has another tree.
        key = (trial.held_out, _tree_key(settings))
        if self._shared.key == key:
            # A stage that has its value already isn't run.
            stages.values.update(self._shared.values)
            stages.accounts.update(self._shared.accounts)
        finished = run(self._graph(trial), replace(settings, threads=self._setup.threads), stages)
        self._share(key, settings, stages)
        # The file may have the scores of ratios that another figure requested.
        cached = self._cached(trial)
        scores = {**(cached.scores if cached else {}), **self._score(trial, finished.embedding)}
        traffic = stages.total().traffic
        # Only protocol `paper` has tokens.
        hop_bytes = traffic[Token.phase].bytes if Token.phase in traffic else 0
        measured = Measured(
            scores,
            finished.walks.hops_per_walk,
            hop_bytes / max(1, len(finished.walks.sequences)),
            sum(stages.seconds().values()),
            sum(phase.count for phase in traffic.values()),
            sum(phase.bytes for phase in traffic.values()),
        )
        self._folder.mkdir(parents=True, exist_ok=True)
        record = {"settings": settings.as_dict(), "held_out": trial.held_out, "measured": asdict(measured)}
        write_text(self._file(trial), json.dumps(record, indent=1) + "\n")
        return measured

    def _share(self, key: Any, settings: Settings, stages: StageRunner) -> None:
        """Keep the tree for the next trials. Another protocol's stages may depend on anything, and aren't shared."""
        if find_protocol(settings.protocol) is not PAPER:
            self._shared = _Shared()
            return
        self._shared = _Shared(
            key,
            {name: stages.values[name] for name in TREE_STAGES if name in stages.values},
            {name: stages.accounts[name] for name in SHARED_COSTS if name in stages.accounts},
        )

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
        scores = evaluate(
            embedding, setup.graph, train_ratios=trial.ratios, splits=setup.splits, rule=setup.rule,
            threads=setup.threads,
        )  # fmt: skip
        return {
            f"{name}@{score.train_ratio:g}": getattr(score, name)
            for score in scores
            for name in ("micro_f1", "macro_f1")
        }


def labels_digest(graph: Graph) -> str:
    """SHA-256 of the graph's labels, which its fingerprint leaves out; empty if there are none."""
    if graph.labels is None:
        return ""
    indicator = graph.labels.indicator
    digest = hashlib.sha256(json.dumps(graph.labels.names).encode())
    digest.update(indicator.indptr.astype("<i8").tobytes())
    digest.update(indicator.indices.astype("<i8").tobytes())
    return digest.hexdigest()


def _within(on_progress: Progress, begin: int, cost: int, whole: int, done: int, total: int) -> None:
    """Report the progress of one trial as that of all of them."""
    on_progress(begin + cost * done // max(1, total), whole)


def _over_stages(settings: Settings, on_progress: Progress) -> StageProgress:
    """Report the progress of stages as that of one trial: each has the same share, and so has the scoring."""
    names = [stage.name for stage in find_protocol(settings.protocol).stages]

    def announce(stage: str, done: int, total: int) -> None:
        # A protocol of another package may run a stage that it doesn't declare.
        if stage in names:
            on_progress(100 * names.index(stage) + 100 * done // max(1, total), 100 * (len(names) + 1))

    return announce
