"""F1 by logistic regression: against the textbook way, and against what could bias it."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.multiclass import OneVsRestClassifier

from conftest import SETTINGS
from fedwalk import DeepWalk, Embedding, evaluate
from fedwalk.errors import InputError, SettingsError
from fedwalk.evaluation.classification import predict_labels
from fedwalk.graph import Graph, Labels, load_graph


@pytest.fixture(scope="module")
def embedding(network: Graph) -> Embedding:
    return DeepWalk(**SETTINGS).fit_transform(network)


def ring(n: int, *labels: list[int]) -> Graph:
    """A ring of n vertices; each label is given by the vertices that have it."""
    indicator = np.zeros((n, len(labels)), np.uint8)
    for column, members in enumerate(labels):
        indicator[members, column] = 1
    names = tuple(f"label-{i}" for i in range(len(labels)))
    return load_graph([[v, (v + 1) % n] for v in range(n)]).with_labels(Labels(csr_array(indicator), names))


def textbook(
    vectors: NDArray[np.float32], truth: NDArray[np.bool_], ratio: float, seed: int, split: int
) -> list[float]:
    """One split as every paper of the field does it: top-k of a one-vs-rest classifier, k the true count."""
    order = np.random.default_rng([seed, split]).permutation(len(truth))
    train, test = np.split(order, [round(ratio * len(order))])
    model = OneVsRestClassifier(LogisticRegression(solver="liblinear")).fit(vectors[train], truth[train].astype(int))
    predicted = np.zeros_like(truth[test])
    for row, probabilities in enumerate(model.predict_proba(vectors[test])):
        count = int(truth[test][row].sum())
        predicted[row, np.argsort(-probabilities, kind="stable")[:count]] = True
    return [f1_score(truth[test], predicted, average=average, zero_division=0) for average in ("micro", "macro")]


def test_scores_are_those_of_the_textbook(network: Graph, embedding: Embedding) -> None:
    assert network.labels is not None
    truth = network.labels.indicator.toarray().astype(bool)
    splits = [textbook(embedding.vectors, truth, 0.6, 4, split) for split in range(3)]
    (score,) = evaluate(embedding, network, train_ratios=[0.6], splits=3, seed=4)
    assert [score.micro_f1, score.macro_f1] == pytest.approx(np.mean(splits, axis=0).tolist())
    assert [score.micro_f1_std, score.macro_f1_std] == pytest.approx(np.std(splits, axis=0).tolist())


def test_one_split_has_no_deviation(network: Graph, embedding: Embedding) -> None:
    for score in evaluate(embedding, network, train_ratios=[0.5, 0.6], splits=1):
        assert (score.micro_f1_std, score.macro_f1_std) == (None, None)


def test_vectors_that_are_the_labels_score_one() -> None:
    graph = ring(40, list(range(0, 40, 2)), list(range(1, 40, 2)))
    vectors = np.eye(2)[np.arange(40) % 2]
    for rule in ("known-count", "threshold"):
        (score,) = evaluate(Embedding(np.arange(40), vectors), graph, train_ratios=[0.5], splits=5, rule=rule)
        assert (score.micro_f1, score.macro_f1, score.micro_f1_std, score.macro_f1_std) == (1, 1, 0, 0)


def test_vectors_are_found_by_name_not_by_place(network: Graph, embedding: Embedding) -> None:
    order = np.random.default_rng(0).permutation(len(embedding))
    shuffled = Embedding(embedding.nodes[order], embedding.vectors[order])
    as_text = Embedding(embedding.nodes.astype(str), embedding.vectors)
    scores = [evaluate(e, network, train_ratios=[0.5], splits=2) for e in (embedding, shuffled, as_text)]
    assert scores[0] == scores[1] == scores[2]


def test_further_vertices_in_the_embedding_change_nothing(network: Graph, embedding: Embedding) -> None:
    more = Embedding([*embedding, 999], np.vstack([embedding.vectors, np.ones((1, 8), np.float32)]))
    options: dict[str, Any] = {"train_ratios": [0.5], "splits": 2}
    assert evaluate(more, network, **options) == evaluate(embedding, network, **options)


def test_vertices_without_a_label_play_no_part() -> None:
    labelled, rest = list(range(20)), 20
    vectors = np.vstack([np.eye(2)[np.arange(20) % 2], np.full((rest, 2), 100.0)])
    graph = ring(20 + rest, labelled[::2], labelled[1::2])
    (score,) = evaluate(Embedding(np.arange(40), vectors), graph, train_ratios=[0.5], splits=5)
    assert score.micro_f1 == 1


def test_neither_threads_nor_other_ratios_change_a_score(network: Graph, embedding: Embedding) -> None:
    options: dict[str, Any] = {"splits": 3, "seed": 1}
    alone = evaluate(embedding, network, train_ratios=[0.5], threads=1, **options)
    together = evaluate(embedding, network, train_ratios=(r for r in (0.2, 0.5)), threads=2, **options)
    assert together[1] == alone[0]
    assert evaluate(embedding, network, train_ratios=[0.5], splits=3, seed=2) != alone


def test_progress_is_reported(network: Graph, embedding: Embedding) -> None:
    calls: list[tuple[int, int]] = []
    evaluate(
        embedding, network, train_ratios=[0.3, 0.5], splits=2, on_progress=lambda *call: calls.append(call), threads=1
    )
    assert calls == [(i, 4) for i in range(5)]


@pytest.mark.parametrize("ratio", [0.001, 0.999])
def test_extreme_ratios_still_train_on_one_and_test_on_one(ratio: float) -> None:
    graph = ring(6, [0, 1, 2], [3, 4, 5])
    (score,) = evaluate(Embedding(np.arange(6), np.eye(6)), graph, train_ratios=[ratio], splits=4)
    assert 0 <= score.micro_f1 <= 1


def test_a_label_that_all_or_none_of_the_vertices_have_is_no_error() -> None:
    graph = ring(10, list(range(10)), [], [3])
    for rule in ("known-count", "threshold"):
        (score,) = evaluate(Embedding(np.arange(10), np.eye(10)), graph, train_ratios=[0.5], splits=4, rule=rule)
        assert score.micro_f1 > 0.5


def test_a_single_label_is_no_error() -> None:
    (score,) = evaluate(Embedding(np.arange(9), np.eye(9)), ring(9, list(range(5))), train_ratios=[0.5], splits=2)
    assert score.micro_f1 == 1


@given(st.data())
def test_predicted_labels_follow_their_rules(data: st.DataObject) -> None:
    rows, columns = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 5))
    grades = data.draw(st.lists(st.integers(0, 8), min_size=rows * columns, max_size=rows * columns))
    scores = np.array(grades, float).reshape(rows, columns) / 8
    counts = np.array(data.draw(st.lists(st.integers(1, columns), min_size=rows, max_size=rows)))
    known, threshold = predict_labels(scores, counts), predict_labels(scores, counts, "threshold")
    assert known.sum(axis=1).tolist() == counts.tolist()
    for row in range(rows):
        assert scores[row][known[row]].min() >= max(scores[row][~known[row]], default=0)
        above = scores[row] > 0.5
        assert (
            threshold[row].tolist() == (above if above.any() else np.arange(columns) == scores[row].argmax()).tolist()
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"train_ratios": []}, "train-ratio"),
        ({"train_ratios": [0.5, 1.0]}, "train-ratio"),
        ({"train_ratios": [-0.5]}, "train-ratio"),
        ({"splits": 0}, "splits = 0"),
        ({"seed": -1}, "seed = -1"),
        ({"threads": 0}, "threads = 0"),
        ({"rule": "best"}, "rule = 'best': choose from known-count, threshold"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], message: str, network: Graph, embedding: Embedding) -> None:
    with pytest.raises(SettingsError, match=message):
        evaluate(embedding, network, **options)


def test_graphs_without_enough_labels_are_refused(network: Graph, embedding: Embedding) -> None:
    with pytest.raises(InputError, match="has no labels"):
        evaluate(embedding, network.with_labels(None))
    for labelled, message in (([], "0 vertices have a label"), ([2], "1 vertex has a label")):
        with pytest.raises(InputError, match=message):
            evaluate(Embedding(np.arange(5), np.eye(5)), ring(5, labelled))


def test_an_embedding_that_lacks_vertices_is_refused(network: Graph, embedding: Embedding) -> None:
    with pytest.raises(InputError, match="59 of the graph's 60 vertices are not in the embedding, for example 1"):
        evaluate(Embedding(embedding.nodes[:1], embedding.vectors[:1]), network)
