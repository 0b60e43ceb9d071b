"""Link prediction: scores of vectors and of baselines against slow and obvious ones."""

from collections.abc import Callable
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from fedwalk import DeepWalk, Embedding, social_network
from fedwalk.errors import InputError, SettingsError
from fedwalk.evaluation import (
    BASELINES,
    SCORINGS,
    LinkScore,
    LinkSplit,
    best_score,
    links,
    score_baseline,
    score_links,
    split_edges,
)
from fedwalk.graph import Graph
from helpers.link_cases import Case, graph_of, networkx, possible_cases


@pytest.mark.parametrize("method", ["hadamard", "l1", "l2", "combined", "cosine", "dot"])
def test_vectors_that_know_the_edges_score_one(method: str) -> None:
    clique = np.arange(36) // 6
    graph = graph_of([(u, v) for u, v in combinations(range(36), 2) if clique[u] == clique[v]], 36)
    score = score_links(Embedding(graph.names, np.eye(6)[clique]), split_edges(graph), method)
    assert (score.auc, score.average_precision) == pytest.approx((1, 1))
    assert (score.scoring, score.pairs) == (method, 36)


def test_vectors_that_deny_the_edges_score_zero_until_a_classifier_learns_that() -> None:
    sides = np.arange(24) % 2
    graph = graph_of([(u, v) for u, v in combinations(range(24), 2) if sides[u] != sides[v]], 24)
    embedding = Embedding(graph.names, np.column_stack((2.0 * sides - 1, np.zeros(24))))
    split = split_edges(graph, 0.2)
    assert [score_links(embedding, split, method).auc for method in ("cosine", "dot")] == [0, 0]
    assert [score_links(embedding, split, method).auc for method in ("hadamard", "l1", "l2")] == [1, 1, 1]


def slow_scores(edges: list[float], others: list[float]) -> tuple[float, float]:
    """AUC by comparing all pairs of pairs; average precision by counting at every threshold."""
    wins = sum((e > o) + (e == o) / 2 for e in edges for o in others)
    precision = 0.0
    for threshold in set(edges):
        found, wrong = (sum(value >= threshold for value in values) for values in (edges, others))
        precision += edges.count(threshold) / len(edges) * found / (found + wrong)
    return wins / (len(edges) * len(others)), precision


NETWORKX = {
    "degree product": nx.preferential_attachment,
    "Adamic–Adar": nx.adamic_adar_index,
    "resource allocation": nx.resource_allocation_index,
}


def slow_value(method: str, split: LinkSplit, embedding: Embedding, u: int, v: int) -> float:
    training = networkx(split.training)
    if method == "common neighbours":
        return float(len(set(training[u]) & set(training[v])))
    if method in NETWORKX:
        ((_, _, value),) = NETWORKX[method](training, [(u, v)])
        return float(value)
    a, b = (embedding[split.training.names[end].item()].astype(float) for end in (u, v))
    length = float(np.linalg.norm(a) * np.linalg.norm(b)) if method == "cosine" else 1.0
    return float(a @ b) / length if length else 0.0


@pytest.mark.parametrize("method", ["cosine", "dot", *BASELINES])
def test_scores_are_those_of_counting_one_by_one(method: str, network: Graph) -> None:
    # Small whole numbers, so that there are ties and no rounding; vectors in another order than the vertices.
    rng = np.random.default_rng(3)
    order = rng.permutation(network.vertices)
    embedding = Embedding(network.names[order], rng.integers(-1, 2, (network.vertices, 1)))
    split = split_edges(network, 0.25, seed=2)
    kinds = (split.held_out.tolist(), split.non_edges.tolist())
    edges, others = ([slow_value(method, split, embedding, u, v) for u, v in pairs] for pairs in kinds)
    score = score_baseline(split, method) if method in BASELINES else score_links(embedding, split, method)
    assert (score.auc, score.average_precision) == pytest.approx(slow_scores(edges, others))


@given(possible_cases())
def test_baselines_score_pairs_as_networkx_does(case: Case) -> None:
    split = split_edges(*case)
    embedding = Embedding(split.training.names, np.zeros((split.training.vertices, 1)))
    pairs = np.array(list(combinations(range(split.training.vertices), 2)))
    for name, baseline in BASELINES.items():
        expected = [slow_value(name, split, embedding, u, v) for u, v in pairs.tolist()]
        assert baseline(split.training, pairs) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("method", "feature"),
    [
        ("hadamard", lambda a, b: a * b),
        ("l1", lambda a, b: abs(a - b)),
        ("l2", lambda a, b: (a - b) * (a - b)),
        ("average", lambda a, b: 0.5 * a + 0.5 * b),
    ],
)
def test_operators_feed_a_logistic_regression_feature_by_feature(
    method: str, feature: Callable[[float, float], float], network: Graph
) -> None:
    embedding = Embedding(network.names, np.random.default_rng(1).normal(size=(network.vertices, 3)))
    split = split_edges(network, 0.25, seed=2)

    def features(*kinds: NDArray[np.int64]) -> NDArray[np.float64]:
        ends = [embedding.vectors[pair].tolist() for kind in kinds for pair in kind]
        return np.array([[feature(a, b) for a, b in zip(*two, strict=True)] for two in ends])

    seen, tested = features(split.train_edges, split.train_non_edges), features(split.held_out, split.non_edges)
    mean, spread = seen.mean(axis=0), seen.std(axis=0)
    truth = [True] * len(split.train_edges) + [False] * len(split.train_non_edges)
    model = LogisticRegression().fit((seen - mean) / spread, truth)
    values = model.decision_function((tested - mean) / spread).tolist()
    edges, others = values[: len(split.held_out)], values[len(split.held_out) :]
    score = score_links(embedding, split, method)
    assert (score.auc, score.average_precision) == pytest.approx(slow_scores(edges, others), abs=1e-3)


def test_combined_features_are_products_sums_and_lengths() -> None:
    a, b = np.array([[3.0, 4.0], [0.0, 0.0]]), np.array([[-1.0, 0.0], [2.0, 0.0]])
    expected = [[-3, 0, 2, 4, 6, 5, np.log(6)], [0, 0, 2, 0, 2, 0, 0]]
    assert links.OPERATORS["combined"](a, b) == pytest.approx(np.array(expected))
    assert np.array_equal(links.OPERATORS["combined"](a, b), links.OPERATORS["combined"](b, a))


def test_lengths_let_the_combined_scoring_learn_popularity() -> None:
    # Every vector has the same direction, and its length is the degree: only a scoring that sees lengths can rank.
    graph = social_network(vertices=300, mean_degree=12, communities=1, mixing=1.0, seed=1)
    split = split_edges(graph)
    embedding = Embedding(graph.names, np.log1p(split.training.degrees)[:, None] * np.ones(3))
    assert score_links(embedding, split, "cosine").auc == pytest.approx(0.5, abs=0.01)
    assert score_links(embedding, split, "combined").auc > 0.6


def test_the_best_scoring_is_chosen_on_the_validation_pairs_alone(network: Graph) -> None:
    rng = np.random.default_rng(4)
    embedding = Embedding(network.names, rng.normal(size=(network.vertices, 4)))
    split = split_edges(network, 0.3, validation=0.5)
    scores = [score_links(embedding, split, scoring) for scoring in SCORINGS]
    best = score_links(embedding, split, "best")
    assert best == best_score(scores)
    assert best.validation_auc == max(score.validation_auc or 0 for score in scores)
    # The test pairs prefer another one, and aren't asked.
    assert best.auc < max(score.auc for score in scores)
    mirrored = LinkSplit(
        split.training, split.validation_edges, split.validation_non_edges, split.train_edges, split.train_non_edges
    )
    for score in scores:
        assert score_links(embedding, mirrored, score.scoring).auc == score.validation_auc
    with pytest.raises(InputError, match=r"validation pairs .* split_edges\(graph, validation=0\.25\)"):
        score_links(embedding, split_edges(network), "best")


def test_equal_validation_scores_leave_the_first() -> None:
    scores = [LinkScore(auc, 0.5, name, 10, 0.8) for name, auc in (("a", 0.1), ("b", 0.9))]
    assert best_score(scores).scoring == "a"


def test_the_seed_chooses_training_pairs_where_there_are_too_many_and_chunks_change_nothing(
    network: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedding = Embedding(network.names, np.random.default_rng(1).normal(size=(network.vertices, 8)))
    split = split_edges(network)
    monkeypatch.setattr(links, "MAX_TRAINING", 20)
    scores = [score_links(embedding, split, seed=seed) for seed in (0, 1)]
    assert scores[0] != scores[1]
    monkeypatch.setattr(links, "_CHUNK", 7)
    assert [score_links(embedding, split, seed=seed) for seed in (0, 1)] == scores


def test_deepwalk_predicts_links_of_a_social_network_and_shuffled_vectors_do_not() -> None:
    split = split_edges(social_network(vertices=300, mean_degree=12, communities=6, mixing=0.1, seed=1))
    embedding = DeepWalk(num_walks=10, dim=16, threads=1).fit_transform(split.training)
    for method in ("hadamard", "l1", "l2", "cosine", "dot"):
        score = score_links(embedding, split, method)
        assert min(score.auc, score.average_precision) > 0.65
    rng = np.random.default_rng(0)
    shuffled = [Embedding(embedding.nodes, rng.permutation(embedding.vectors)) for _ in range(10)]
    # Over all orders the mean is ½, and the mean of ten strays from it by 0.007; a classifier can still learn hubs.
    assert np.mean([score_links(e, split, "cosine").auc for e in shuffled]) == pytest.approx(0.5, abs=0.03)
    assert np.mean([score_links(e, split, "hadamard").auc for e in shuffled]) == pytest.approx(0.5, abs=0.1)


def test_zero_vectors_are_no_error_and_no_better_than_chance(network: Graph) -> None:
    split = split_edges(network)
    embedding = Embedding(network.names, np.zeros((network.vertices, 4)))
    assert [score_links(embedding, split, method).auc for method in SCORINGS] == [0.5] * len(SCORINGS)


def test_an_embedding_that_lacks_vertices_is_refused(network: Graph) -> None:
    with pytest.raises(InputError, match="58 of the graph's 60 vertices are not in the embedding"):
        score_links(Embedding(network.names[:2], np.eye(2)), split_edges(network))


def test_unknown_methods_and_seeds_are_refused(network: Graph) -> None:
    split, embedding = split_edges(network), Embedding(network.names, np.ones((60, 2)))
    for message, call in (
        ("scoring = 'guess': choose from hadamard, l1", lambda: score_links(embedding, split, "guess")),
        ("baseline = 'guess': choose from degree product", lambda: score_baseline(split, "guess")),
        ("seed = -1", lambda: score_links(embedding, split, seed=-1)),
        ("seed = -1", lambda: split_edges(network, seed=-1)),
        ("validation share = 1", lambda: split_edges(network, validation=1.0)),
        ("validation share = -0.1", lambda: split_edges(network, validation=-0.1)),
    ):
        with pytest.raises(SettingsError, match=message):
            call()
