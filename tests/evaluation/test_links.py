"""Link prediction: what a split may and may not do to a graph, and scores against slow and obvious ones."""

from collections.abc import Callable
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from fedwalk import DeepWalk, Embedding, social_network
from fedwalk.errors import FedWalkError, InputError, SettingsError
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
from fedwalk.graph.build import from_edges
from fedwalk.graph.graph import edge_pairs, edge_weights
from fedwalk.graph.pairs import pair_numbers

Case = tuple[Graph, float, int]


def graph_of(edges: list[tuple[int, int]], n: int) -> Graph:
    source, target = np.array(edges, np.int64).reshape(-1, 2).T
    return from_edges(source, target, np.array([f"v{i}" for i in range(n)]))


def as_set(pairs: NDArray[np.int64]) -> set[tuple[int, int]]:
    return {(int(u), int(v)) for u, v in pairs}


def networkx(graph: Graph) -> "nx.Graph[int]":
    whole = nx.empty_graph(graph.vertices)
    whole.add_edges_from(edge_pairs(graph).tolist())
    return whole


def room(graph: Graph) -> tuple[int, int]:
    """How many edges lie outside a spanning forest, and how many non-edges there are among vertices with an edge."""
    forest = graph.vertices - nx.number_connected_components(networkx(graph))
    n = graph.vertices - graph.isolated
    return graph.edges - forest, n * (n - 1) // 2 - graph.edges


def some_edges(n: int) -> st.SearchStrategy[list[tuple[int, int]]]:
    return st.lists(st.sampled_from(list(combinations(range(n), 2))), unique=True, max_size=2 * n)


@st.composite
def possible_cases(draw: st.DrawFn) -> Case:
    """A ring, so that an edge can be spared, with more edges and perhaps more parts and isolated vertices."""
    n, ring = draw(st.integers(6, 12)), draw(st.integers(5, 6))
    graph = graph_of([(v, (v + 1) % ring) for v in range(ring)] + draw(some_edges(n)), n)
    spare, others = room(graph)
    assume(others >= 2)
    count = draw(st.integers(1, min(spare, others // 2)))
    return graph, count / graph.edges, draw(st.integers(0, 2**63 - 1))


@given(possible_cases())
def test_held_out_and_training_edges_are_the_graphs_edges_each_in_one_of_them(case: Case) -> None:
    graph, share, seed = case
    split = split_edges(graph, share, seed)
    held, kept = as_set(split.held_out), as_set(edge_pairs(split.training))
    assert (held | kept, held & kept) == (as_set(edge_pairs(graph)), set())
    assert len(held) == len(split.held_out) == max(1, round(share * graph.edges))
    assert as_set(split.train_edges) == kept


@given(possible_cases())
def test_the_training_graph_has_the_components_of_the_whole(case: Case) -> None:
    graph, share, seed = case
    training = split_edges(graph, share, seed).training
    parts = [sorted(map(sorted, nx.connected_components(networkx(g)))) for g in (graph, training)]
    assert parts[0] == parts[1]
    assert np.array_equal(training.degrees == 0, graph.degrees == 0)
    assert training.names.tolist() == graph.names.tolist()


@given(possible_cases())
def test_non_edges_join_vertices_that_no_edge_of_the_whole_graph_does(case: Case) -> None:
    graph, share, seed = case
    split = split_edges(graph, share, seed)
    drawn = np.concatenate((split.non_edges, split.train_non_edges))
    assert not as_set(drawn) & as_set(edge_pairs(graph))
    assert len(as_set(drawn)) == len(drawn)
    assert (graph.degrees[drawn] > 0).all()
    assert len(split.non_edges) == len(split.held_out)
    assert len(split.train_non_edges) == min(len(split.train_edges), room(graph)[1] - len(split.held_out))


@given(st.integers(2, 12), st.floats(0.01, 0.99), st.data())
def test_only_what_is_impossible_is_refused(n: int, share: float, data: st.DataObject) -> None:
    graph = graph_of(data.draw(some_edges(n)), n)
    (spare, others), count = room(graph), max(1, round(share * graph.edges))
    if count <= spare and 2 * count <= others:
        split_edges(graph, share)
    else:
        with pytest.raises(FedWalkError):
            split_edges(graph, share)


@given(possible_cases())
def test_the_seed_decides_the_split(case: Case) -> None:
    first, again = split_edges(*case), split_edges(*case)
    for name in ("held_out", "non_edges", "train_edges", "train_non_edges"):
        assert np.array_equal(getattr(first, name), getattr(again, name))


def test_another_seed_makes_another_split_and_labels_stay(network: Graph) -> None:
    splits = [split_edges(network, 0.2, seed) for seed in (0, 1)]
    assert as_set(splits[0].held_out) != as_set(splits[1].held_out)
    assert as_set(splits[0].non_edges) != as_set(splits[1].non_edges)
    assert splits[0].training.labels is network.labels


def test_training_edges_keep_their_weights(network: Graph) -> None:
    edges = edge_pairs(network)
    weights = np.random.default_rng(3).random(len(edges)) + 0.5
    graph = from_edges(edges[:, 0], edges[:, 1], network.names, weights=weights)
    training = split_edges(graph, 0.3).training
    kept = edge_weights(training)
    assert kept is not None
    weight_of = dict(zip(map(tuple, edges.tolist()), weights.tolist(), strict=True))
    assert [weight_of[tuple(pair)] for pair in edge_pairs(training).tolist()] == kept.tolist()
    assert split_edges(network, 0.3).training.weights is None


def test_every_spare_edge_and_every_non_edge_is_drawn_equally_often() -> None:
    # A ring: each edge is as often the one outside the forest as any other, and so is each chord a non-edge.
    n, times = 6, 1500
    graph = graph_of([(v, (v + 1) % n) for v in range(n)], n)
    splits = [split_edges(graph, 0.1, seed) for seed in range(times)]
    for name, kinds in (("held_out", n), ("non_edges", n * (n - 1) // 2 - n)):
        drawn = pair_numbers(np.concatenate([getattr(split, name) for split in splits]))
        counts = np.unique(drawn, return_counts=True)[1]
        spread = np.sqrt(times / kinds * (1 - 1 / kinds))
        assert len(counts) == kinds
        assert np.abs(counts - times / kinds).max() < 4 * spread


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


@given(possible_cases(), st.floats(0.01, 0.99))
def test_validation_pairs_are_held_out_pairs_set_aside(case: Case, share: float) -> None:
    whole = split_edges(*case)
    if len(whole.held_out) < 2:
        with pytest.raises(SettingsError, match="a single edge is held out"):
            split_edges(*case, validation=share)
        return
    split = split_edges(*case, validation=share)
    assert as_set(edge_pairs(split.training)) == as_set(edge_pairs(whole.training))
    assert as_set(split.train_non_edges) == as_set(whole.train_non_edges)
    for test, validation, both in (
        (split.held_out, split.validation_edges, whole.held_out),
        (split.non_edges, split.validation_non_edges, whole.non_edges),
    ):
        assert len(test) > 0 < len(validation)
        assert len(test) + len(validation) == len(both)
        assert as_set(test) | as_set(validation) == as_set(both)


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


PAIRS = list(combinations(range(10), 2))
RING = [(v, (v + 1) % 10) for v in range(10)]


@pytest.mark.parametrize(
    ("edges", "share", "error", "message"),
    [
        *((RING, share, SettingsError, "share = .*between 0 and 1") for share in (0.0, 1.0, -0.2, float("nan"))),
        (RING[:-1], 0.2, InputError, "no edge can be held out: the graph's 9 edges form a forest"),
        (RING, 0.2, SettingsError, r"only 1 of the graph's 10 can be removed.*Hold out at most 0\.1\."),
        (PAIRS[8:], 0.2, InputError, "8 pairs of .* are no edges, but 7 held-out edges need 14"),
    ],
)
def test_a_refusal_says_what_stands_in_the_way(
    edges: list[tuple[int, int]], share: float, error: type[FedWalkError], message: str
) -> None:
    with pytest.raises(error, match=message):
        split_edges(graph_of(edges, 10), share)


def test_the_last_non_edges_of_a_nearly_complete_graph_are_found() -> None:
    split = split_edges(graph_of(PAIRS[2:], 10), 0.02)
    assert as_set(np.concatenate((split.non_edges, split.train_non_edges))) == set(PAIRS[:2])


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


def test_a_split_of_ones_own_is_checked_for_leaks() -> None:
    ring = graph_of([(0, 1), (1, 2), (2, 3), (3, 0)], 5)

    def own(*parts: object) -> LinkSplit:
        return LinkSplit(ring, *map(np.array, parts))

    assert own([[2, 0]], [[4, 1]], [[0, 1]], [[0, 4]]).held_out.tolist() == [[0, 2]]
    for message, *parts in (
        ("a pair occurs twice", [[1, 0]], [[1, 4]], [[0, 1]], [[0, 4]]),
        ("a pair occurs twice", [[0, 2]], [[1, 4]], [[0, 1]], [[4, 1]]),
        ("train_edges holds a pair that is no edge", [[0, 2]], [[1, 4]], [[1, 3]], [[0, 4]]),
        ("non_edges must be pairs of different vertices", [[0, 2]], [[1, 5]], [[0, 1]], [[0, 4]]),
        ("held_out must have at least one row of two vertex ids", [0, 2], [[1, 4]], [[0, 1]], [[0, 4]]),
        ("a pair occurs twice", [[0, 2]], [[1, 4]], [[0, 1]], [[0, 4]], [[0, 2]], [[1, 3]]),
        ("validation_non_edges must have at least one", [[0, 2]], [[1, 4]], [[0, 1]], [[0, 4]], [[1, 3]], []),
    ):
        with pytest.raises(InputError, match=message):
            own(*parts)
