"""Trials: an embedding made with some settings, scored, and kept on disk so that nothing is computed twice.

A trial's file is named by a digest of everything that decides its numbers: the graph, the settings, the splits, the
version. Trials that share a seed, k and ε follow each other and share the tree and the encoder's table.
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
from fedwalk.kernels.threads import Report, silent
from fedwalk.pipeline import run
from fedwalk.run_folder import write_text
from fedwalk.settings import Settings
from fedwalk.stages import Stages

TREE_STAGES = ("bins", "vectors", "tree", "encoder")
LINK_METHODS = ("hadamard", "cosine")


@dataclass(frozen=True, slots=True)
class Request:
    """Settings to run, and what to score: labels at some T_R, or held-out edges."""

    settings: Settings
    ratios: tuple[float, ...] = ()
    held_out: float = 0.0


@dataclass(frozen=True, slots=True)
class Measured:
    """What a trial found: scores by name, e.g. "micro_f1@0.6", hops per walk and their bytes."""

    scores: dict[str, float]
    hops_per_walk: float
    hop_bytes_per_walk: float
    seconds: float


def plan(requests: Iterable[Request]) -> list[Request]:
    """Each settings once, with all the ratios asked for, those that share a tree side by side."""
    merged: dict[tuple[Settings, float], set[float]] = {}
    for request in requests:
        merged.setdefault((request.settings, request.held_out), set()).update(request.ratios)
    joined = [Request(settings, tuple(sorted(ratios)), held) for (settings, held), ratios in merged.items()]
    return sorted(joined, key=lambda request: (request.held_out, _tree_key(request.settings), request.settings.walks))


def _tree_key(settings: Settings) -> tuple[Any, ...]:
    return (settings.protocol, settings.seed, settings.bins or 0, settings.epsilon, settings.tree, settings.encoder)


class Laboratory:
    """Runs the trials of a setup; `folder` keeps what was found."""

    def __init__(self, setup: Setup, folder: Path) -> None:
        self._setup, self._folder = setup, folder
        self._fingerprint = setup.graph.fingerprint()
        self._shared: tuple[Any, dict[str, Any]] = (None, {})
        self._training: dict[tuple[float, int], LinkSplit] = {}

    def measure(self, requests: Iterable[Request], report: Report = silent) -> dict[tuple[Settings, float], Measured]:
        """Every trial's numbers, from its file if it has one."""
        trials = plan(requests)
        work = [10 + trial.settings.walks + 10 * len(trial.ratios) for trial in trials]
        found, done = {}, 0
        report(0, sum(work))
        for trial, cost in zip(trials, work, strict=True):
            found[trial.settings, trial.held_out] = self._recall(trial) or self._perform(trial)
            done += cost
            report(done, sum(work))
        return found

    def _file(self, trial: Request) -> Path:
        identity = {
            "fedwalk": __version__, "graph": self._fingerprint, "splits": self._setup.splits,
            "held_out": trial.held_out, **asdict(replace(trial.settings, threads=None)),
        }  # fmt: skip
        digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]
        return self._folder / f"{digest}.json"

    def _recall(self, trial: Request) -> Measured | None:
        """The kept numbers, if all that is asked for is among them."""
        try:
            kept = json.loads(self._file(trial).read_text(encoding="utf-8"))
            measured = Measured(**kept["measured"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return measured if all(f"micro_f1@{ratio:g}" in measured.scores for ratio in trial.ratios) else None

    def _perform(self, trial: Request) -> Measured:
        graph, settings = self._graph(trial), trial.settings
        stages = Stages()
        key = (trial.held_out, _tree_key(settings))
        if self._shared[0] == key:
            stages.values.update(self._shared[1])
        finished = run(graph, replace(settings, threads=self._setup.threads), stages)
        self._shared = key, {name: stages.values[name] for name in TREE_STAGES if name in stages.values}
        hops = stages.total().as_dict().get("hops", {"bytes": 0})
        measured = Measured(
            self._score(trial, finished.embedding),
            finished.walks.hops_per_walk,
            hops["bytes"] / max(1, len(finished.walks.sequences)),
            sum(stages.seconds().values()),
        )
        self._folder.mkdir(parents=True, exist_ok=True)
        record = {"settings": asdict(settings), "held_out": trial.held_out, "measured": asdict(measured)}
        write_text(self._file(trial), json.dumps(record, indent=1) + "\n")
        return measured

    def _graph(self, trial: Request) -> Graph:
        return self._split(trial).training if trial.held_out else self._setup.graph

    def _split(self, trial: Request) -> LinkSplit:
        key = trial.held_out, trial.settings.seed
        if key not in self._training:
            self._training = {key: split_edges(self._setup.graph, share=trial.held_out, seed=trial.settings.seed)}
        return self._training[key]

    def _score(self, trial: Request, embedding: Embedding) -> dict[str, float]:
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
        found = evaluate(embedding, setup.graph, train_ratios=trial.ratios, splits=setup.splits, threads=setup.threads)
        return {
            f"{name}@{score.train_ratio:g}": getattr(score, name)
            for score in found
            for name in ("micro_f1", "macro_f1")
        }
