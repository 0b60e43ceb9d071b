"""Multi-label classification of vertices by their vectors, scored by micro- and macro-F1 (Sec. 5.1).

A one-vs-rest logistic regression is trained on a random share T_R of the labelled vertices and scored on the others,
over several random splits. By default (`known-count`) it predicts as many labels for a vertex as the vertex truly has,
those with the highest scores. This is the field's convention; it overstates real-world F1 (Lin et al.), because in
practice the count is unknown. `threshold` predicts every label with a probability above ½, and at least one.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedwalk.embedding import Embedding
from fedwalk.errors import InputError, SettingsError
from fedwalk.evaluation.coverage import check_all_embedded
from fedwalk.graph import Graph, load_graph
from fedwalk.util.parallel import Progress, available_cores, run_tasks, silent
from fedwalk.util.text import counted

RULES = ("known-count", "threshold")


@dataclass(frozen=True, slots=True)
class Score:
    """Mean and standard deviation of F1 over the splits, for one training ratio; one split has no deviation."""

    train_ratio: float
    micro_f1: float
    micro_f1_std: float | None
    macro_f1: float
    macro_f1_std: float | None
    splits: int
    rule: str


def evaluate(
    embedding: Embedding,
    graph: Any,
    *,
    labels: Any = None,
    train_ratios: Iterable[float] = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
    splits: int = 10,
    seed: int = 0,
    rule: str = "known-count",
    threads: int | None = None,
    on_progress: Progress = silent,
) -> list[Score]:
    """Score an embedding by the labels of the graph's vertices.

    Parameters
    ----------
    embedding
        Vectors for the graph's vertices, matched by name.
    graph
        The graph: anything that `load_graph` takes. Vertices without a label are ignored.
    labels
        Other labels than the graph's own: anything that `load_labels` takes.
    train_ratios
        The values of T_R, each between 0 and 1.
    splits
        The number of random splits per ratio. The same seed gives the same splits for every embedding.
    rule
        How many labels to predict: `known-count` or `threshold`.
    threads
        The number of splits scored in parallel; None for all cores. The scores don't depend on it.

    Examples
    --------
    >>> import fedwalk
    >>> graph = fedwalk.social_network(vertices=200, communities=3, seed=1)
    >>> embedding = fedwalk.DeepWalk(num_walks=5, dim=16, threads=1).fit_transform(graph)
    >>> score, = fedwalk.evaluate(embedding, graph, train_ratios=[0.5], splits=3)
    >>> 0.4 < score.micro_f1 <= 1
    True
    """
    ratios = tuple(train_ratios)
    _check(ratios, splits, seed, rule, threads)
    vectors, truth = _labelled(embedding, load_graph(graph, labels=labels))
    # The constant column is the intercept: see `_probabilities`.
    design = np.column_stack([vectors, np.ones(len(vectors), vectors.dtype)])
    tasks = [
        partial(_one_split, design, truth, ratio, np.random.default_rng([seed, split]), rule)
        for ratio in ratios
        for split in range(splits)
    ]
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, "blas"):  # the splits already use all cores
        scores = run_tasks(tasks, threads or available_cores(), on_progress)
    results = np.array(scores).reshape(len(ratios), splits, 2)
    mean = results.mean(axis=1).tolist()
    spread = results.std(axis=1).tolist() if splits > 1 else [(None, None)] * len(ratios)
    return [
        Score(ratio, micro, micro_std, macro, macro_std, splits, rule)
        for ratio, (micro, macro), (micro_std, macro_std) in zip(ratios, mean, spread, strict=True)
    ]


def losses(score: Score, baseline: Score) -> dict[str, float]:
    """The loss of F1 compared with a baseline at the same training ratio, absolute and relative to the baseline.

    >>> ours, theirs = Score(0.5, 0.36, 0, 0.2, 0, 5, "known-count"), Score(0.5, 0.4, 0, 0.25, 0, 5, "known-count")
    >>> {name: round(value, 3) for name, value in losses(ours, theirs).items()}
    {'micro_f1': 0.04, 'micro_f1_relative': 0.1, 'macro_f1': 0.05, 'macro_f1_relative': 0.2}
    """
    result = {}
    for name in ("micro_f1", "macro_f1"):
        best = getattr(baseline, name)
        result[name] = best - getattr(score, name)
        result[f"{name}_relative"] = result[name] / best if best else 0.0
    return result


def _check(ratios: tuple[float, ...], splits: int, seed: int, rule: str, threads: int | None) -> None:
    if not ratios or not all(0 < ratio < 1 for ratio in ratios):
        raise SettingsError(f"train-ratio = {ratios}: each must lie between 0 and 1, e.g. 0.1,0.5,0.9.")
    if splits < 1:
        raise SettingsError(f"splits = {splits}: at least 1.")
    if seed < 0:
        raise SettingsError(f"seed = {seed}: at least 0.")
    if threads is not None and threads < 1:
        raise SettingsError(f"threads = {threads}: at least 1.")
    if rule not in RULES:
        raise SettingsError(f"rule = {rule!r}: choose from {', '.join(RULES)}.")


def _labelled(embedding: Embedding, graph: Graph) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Vectors and labels of the vertices that have a label, in the graph's order."""
    if graph.labels is None:
        raise InputError(
            "the graph has no labels: give a file with lines of `vertex label label …` with --labels (in Python: "
            "evaluate(…, labels=…))."
        )
    check_all_embedded(embedding, graph, "Use the graph that was embedded.")
    has_label = np.flatnonzero(graph.labels.per_vertex)
    if has_label.size < 2:
        labelled = counted(has_label.size, "vertex has", "vertices have")
        raise InputError(f"{labelled} a label; at least two are needed, to train and to test.")
    vectors = np.stack([embedding[name] for name in graph.names[has_label].tolist()])
    return vectors, graph.labels.indicator[has_label].toarray().astype(bool)


def _one_split(
    design: NDArray[np.float32], truth: NDArray[np.bool_], ratio: float, rng: np.random.Generator, rule: str
) -> tuple[float, float]:
    """Micro- and macro-F1 of one random split."""
    from sklearn.metrics import f1_score

    order = rng.permutation(len(design))
    cut = min(max(1, round(ratio * len(order))), len(order) - 1)
    train, test = order[:cut], order[cut:]
    scores = np.column_stack([_probabilities(design, column, train, test) for column in truth.T])
    predicted = predict_labels(scores, truth[test].sum(axis=1), rule)
    micro, macro = (
        float(f1_score(truth[test], predicted, average=average, zero_division=0)) for average in ("micro", "macro")
    )
    return micro, macro


def _probabilities(
    design: NDArray[np.float32], label: NDArray[np.bool_], train: NDArray[Any], test: NDArray[Any]
) -> NDArray[np.float64]:
    """The probability of one label for each tested vertex.

    If all or none of the training vertices have the label, the same is predicted for every tested vertex.

    The last column of the design is 1, and its weight is the intercept. It is regularised like all other weights, as in
    liblinear, which published scores use. This solver finds the same optimum in half the time.
    """
    from sklearn.linear_model import LogisticRegression

    if label[train].all() or not label[train].any():
        return np.full(len(test), float(label[train][0]))
    model = LogisticRegression(solver="newton-cholesky", fit_intercept=False).fit(design[train], label[train])
    return np.asarray(model.predict_proba(design[test])[:, 1], np.float64)


def predict_labels(
    scores: NDArray[np.float64], counts: NDArray[np.int64], rule: str = "known-count"
) -> NDArray[np.bool_]:
    """The labels predicted for each vertex, from one score per vertex and label.

    `counts` has the true number of labels of each vertex, which only the rule `known-count` uses.

    >>> predict_labels(np.array([[0.7, 0.6, 0.1], [0.2, 0.4, 0.3]]), np.array([1, 2])).astype(int).tolist()
    [[1, 0, 0], [0, 1, 1]]
    >>> predict_labels(np.array([[0.7, 0.6, 0.1], [0.2, 0.4, 0.3]]), np.array([1, 2]), "threshold").astype(int).tolist()
    [[1, 1, 0], [0, 1, 0]]
    """
    rank = np.empty(scores.shape, np.int64)
    order = np.argsort(-scores, axis=1, kind="stable")
    np.put_along_axis(rank, order, np.arange(scores.shape[1])[None, :], axis=1)
    if rule == "threshold":
        return np.asarray((scores > 0.5) | (rank == 0))
    return np.asarray(rank < counts[:, None])
