"""Trials: cached, merged, run again when damaged, and told apart by all that their numbers depend on."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy import sparse

from fedwalk.experiments import trials
from fedwalk.experiments.outcome import (
    trials_of,
)
from fedwalk.experiments.setup import Setup
from fedwalk.experiments.trials import Trial, Trials, plan
from fedwalk.graph.graph import Labels
from fedwalk.settings import Settings


def test_a_damaged_trial_is_run_again(small: Setup, tmp_path: Path) -> None:
    cached = Trials(small, tmp_path)
    trial = Trial(Settings(num_walks=1, walk_length=5, dim=2, num_bins=2), (0.5,))
    first = cached.measure([trial])
    (file,) = tmp_path.iterdir()
    file.write_text(file.read_text(encoding="utf-8")[:40], encoding="utf-8")
    assert cached.measure([trial]).keys() == first.keys()
    assert "measured" in json.loads(file.read_text(encoding="utf-8"))


def test_a_trial_keeps_the_scores_that_another_figure_requested(small: Setup, tmp_path: Path) -> None:
    settings = Settings(num_walks=1, walk_length=5, dim=2, num_bins=2)
    for ratio in (0.2, 0.5):
        Trials(small, tmp_path).measure([Trial(settings, (ratio,))])
    (file,) = tmp_path.iterdir()
    scores = json.loads(file.read_text(encoding="utf-8"))["measured"]["scores"]
    assert scores.keys() == {f"{name}@{ratio}" for name in ("micro_f1", "macro_f1") for ratio in (0.2, 0.5)}


def test_trials_are_merged_and_those_with_the_same_tree_follow_each_other() -> None:
    a, b = Settings(epsilon=1.0), Settings(epsilon=2.0)
    merged = plan([Trial(a, (0.1,)), Trial(b, (0.1,)), Trial(replace(a, predict=0.0)), Trial(a, (0.5,))])
    assert [trial.settings.epsilon for trial in merged] == [1.0, 1.0, 2.0]
    assert merged[[trial.settings for trial in merged].index(a)].ratios == (0.1, 0.5)


def test_sharing_a_tree_changes_no_walk(small: Setup, tmp_path: Path) -> None:
    # Two trials of one Trials object share bins, vectors, tree and encoder; alone, the second computes its own.
    pair = [Trial(Settings(num_walks=2, predict=p, dim=2, threads=1), (0.5,)) for p in (0.4, 0.0)]
    together = Trials(small, tmp_path / "a").measure(pair)
    alone = Trials(small, tmp_path / "b").measure(pair[:1])
    key = (pair[0].settings, 0.0)
    assert together[key].scores == alone[key].scores
    assert together[key].hops_per_walk == alone[key].hops_per_walk


def test_the_default_and_a_sweeps_last_value_are_one_trial(small: Setup) -> None:
    swept = trials_of(small, [{"num_bins": small.usual_bins}], (0.5,))
    assert {trial.settings for trial in swept} == {trial.settings for trial in trials_of(small, [{}], (0.5,))}


def test_a_trial_with_other_labels_is_another_trial(small: Setup, tmp_path: Path) -> None:
    assert small.graph.labels is not None
    names = tuple(reversed(small.graph.labels.names))
    fewer = sparse.csr_array(small.graph.labels.indicator.toarray() * (np.arange(len(names)) > 0))
    trial = Trial(Settings(num_walks=1, walk_length=5, dim=2, num_bins=2), (0.5,))
    for labels in (small.graph.labels, Labels(fewer, small.graph.labels.names)):
        Trials(replace(small, graph=small.graph.with_labels(labels)), tmp_path).measure([trial])
    assert len(list(tmp_path.iterdir())) == 2
    renamed = small.graph.with_labels(Labels(small.graph.labels.indicator, names))
    assert len({trials.labels_digest(graph) for graph in (small.graph, renamed, small.graph.with_labels(None))}) == 3
