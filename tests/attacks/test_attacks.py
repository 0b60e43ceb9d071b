"""Each attack on a small graph whose answer is known, and the scores."""

import numpy as np
import pytest

from fedwalk.attacks.scoring import (
    area_under_curve,
    density,
    sample_pairs,
    score_at_random,
    score_named,
    score_pairs,
)
from fedwalk.attacks.vectors import PublicView, cosines, dot_products
from fedwalk.graph import Graph, load_graph
from fedwalk.graph.graph import edge_pairs
from fedwalk.graph.pairs import among, distinct_pairs
from fedwalk.protocols.base import AuditTarget
from fedwalk.protocols.ldp.attacks.findings import report_view
from fedwalk.protocols.ldp.attacks.guesses import (
    NetworkView,
    are_reported,
    max_precision,
    most_likely,
    reported_pairs,
)
from fedwalk.protocols.ldp.edge_posterior import WeightedGraph
from fedwalk.protocols.paper.attacks.evidence import (
    Wiretap,
    device_view,
    matrix_view,
    relay_view,
    sequence_view,
)
from fedwalk.protocols.paper.attacks.guesses import (
    consecutive_entries,
    contacts,
    first_entries,
    match_rows,
    only_neighbours,
)
from fedwalk.protocols.paper.attacks.views import DeviceView, SequenceView
from fedwalk.protocols.paper.messages import Start, Token
from fedwalk.run.execute import Run, run
from fedwalk.settings import Settings
from helpers.simulation import GRAPHS

NONE = np.empty((0, 2), np.int64)


def finished(graph: Graph, **settings: object) -> Run:
    return run(graph, Settings.from_mapping({"threads": 1, "dim": 2, "num_walks": 4, "walk_length": 12, **settings}))


def target_of(graph: Graph, done: Run) -> AuditTarget:
    return AuditTarget(graph, done.settings, done.stages, 0.0, canaries=1, repeats=1)


@pytest.mark.parametrize("name", ["communities", "karate", "star", "path", "pair"])
def test_rows_name_every_edge_and_nothing_else(name: str) -> None:
    graph = GRAPHS[name]
    found = match_rows(matrix_view(graph, Settings(num_bins=1, seed=3)))
    assert distinct_pairs(*edge_pairs(graph).T).tolist() == found.tolist()


def test_a_dissimilarity_names_the_neighbour_of_every_vertex_that_has_one() -> None:
    inner = GRAPHS["communities"]
    edges = [*edge_pairs(inner).tolist(), *([v, 60 + v] for v in range(20))]
    graph = load_graph(edges)
    named = only_neighbours(device_view(graph, matrix_view(graph, Settings(num_bins=4, seed=3))))
    assert score_named(graph, named) == {"named": 1.0, "victims": int((graph.degrees == 1).sum())}


def test_the_fitting_vector_is_the_nearest_sum_and_the_lower_vertex_among_equals() -> None:
    vectors = np.array([[0.0], [5.0], [1.0], [5.0]], np.float32)
    asked = np.array([-3.0, 0.4, 0.6, 4.9, 99.0], np.float32)
    view = DeviceView(np.zeros((1, 1), np.float32), vectors, asked)
    assert only_neighbours(view).tolist() == [0, 0, 2, 1, 1]


def test_no_neighbour_is_named_if_no_vertex_has_just_one() -> None:
    triangle = load_graph([[0, 1], [1, 2], [2, 0]])
    assert score_named(triangle, np.zeros(3, np.int64)) == {"victims": 0}


def test_walks_over_true_names_show_true_edges() -> None:
    graph = GRAPHS["karate"]
    view = sequence_view(finished(graph, encoder="identity", predict=0, num_walks=40).walks, graph.vertices)
    for guesses in (first_entries(view), consecutive_entries(view)):
        assert score_pairs(graph, guesses)["precision"] == 1.0
    assert score_pairs(graph, consecutive_entries(view))["recall"] == 1.0


def test_steps_come_in_the_order_of_their_frequency() -> None:
    view = SequenceView(np.array([0, 2]), np.array([[1, 2], [1, 3]], np.int32))
    assert consecutive_entries(view).tolist() == [[1, 2], [0, 1], [1, 3]]


def test_a_wiretap_records_which_device_sends_a_walk_to_which() -> None:
    tap = Wiretap()
    tap.record(Start(5, walk=0, length=3, epsilon=1.0, predict=0.0))
    tap.record(Start(6, walk=1, length=3, epsilon=1.0, predict=0.0))
    for device, walk in ((7, 0), (8, 1), (5, 0)):
        tap.record(Token(device, walk, 1, 1.0, 0.0, ()))
    assert tap.pairs().tolist() == [[5, 7], [6, 8], [7, 5]]
    assert tap.traffic["hops"].count == 3


def test_the_relay_records_the_hops_of_the_run_itself() -> None:
    done = finished(GRAPHS["communities"])
    recorded = relay_view(target_of(GRAPHS["communities"], done))
    assert len(recorded.contacts) == done.walks.hops


def test_contacts_of_plain_walks_are_edges() -> None:
    graph = GRAPHS["karate"]
    view = relay_view(target_of(graph, finished(graph, predict=0, num_walks=40)))
    assert score_pairs(graph, contacts(view)) == {"recall": 1.0, "precision": 1.0, "guesses": graph.edges}


def test_the_relay_of_a_large_run_records_a_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedwalk.protocols.paper.attacks.evidence.MAX_STEPS", 34 * 5)
    view = relay_view(target_of(GRAPHS["karate"], finished(GRAPHS["karate"], predict=0)))
    assert len(view.contacts) == 34 * 4


def test_no_device_of_ldp_contacts_another() -> None:
    done = finished(GRAPHS["karate"], protocol="ldp")
    assert all("device → device" not in entry.route for entry in done.stages.transcript.traffic.values())
    assert NetworkView.nothing().contacts.shape == (0, 2)


def test_reports_almost_without_noise_are_the_edges() -> None:
    graph = GRAPHS["communities"]
    view = report_view(graph, Settings(protocol="ldp", epsilon=30, threads=1))
    assert score_pairs(graph, reported_pairs(view)) == {"recall": 1.0, "precision": 1.0, "guesses": graph.edges}
    assert are_reported(view, edge_pairs(graph)[:, ::-1]).all()
    assert not are_reported(view, np.array([[0, 0]])).any()


def test_the_most_likely_pairs_come_first_and_once() -> None:
    first, second = np.array([0, 0, 3]), np.array([1, 2, 1])
    decoded = WeightedGraph.of_pairs(4, first, second, np.array([0.2, 0.9, 0.5]))
    assert most_likely(decoded, 2).tolist() == [[0, 2], [1, 3]]
    assert len(most_likely(decoded, 99)) == 3


def test_epsilon_raises_the_odds_by_its_exponential() -> None:
    for density_ in (0.001, 0.3, 1.0):
        most = max_precision(2.0, density_)
        assert most * (1 - density_) == pytest.approx(np.exp(2.0) * density_ * (1 - most))


def test_closeness_is_dot_product_and_cosine_and_zero_for_a_zero_vector() -> None:
    view = PublicView(np.array([[3, 4], [6, 8], [0, 0]], np.float32))
    pairs = np.array([[0, 1], [0, 2]])
    assert dot_products(view, pairs).tolist() == [50, 0]
    assert cosines(view, pairs) == pytest.approx([1, 0])


def test_guesses_at_random_score_what_the_density_says() -> None:
    graph = GRAPHS["karate"]
    every = np.column_stack(np.triu_indices(graph.vertices, 1))
    assert score_pairs(graph, every) == {**score_at_random(graph, len(every)), "guesses": len(every)}
    assert score_pairs(graph, every)["precision"] == density(graph)
    assert score_pairs(graph, NONE) == {"recall": 0.0, "guesses": 0}


def test_sampled_pairs_are_edges_and_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedwalk.attacks.scoring.MAX_PAIRS", 50)
    edges, others = sample_pairs(GRAPHS["karate"], seed=1)
    true = edge_pairs(GRAPHS["karate"])
    assert (len(edges), len(others)) == (50, 50)
    assert among(edges, true).all()
    assert not among(others, true).any()


def test_the_area_under_the_curve_is_that_of_scikit_learn() -> None:
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(0)
    edges, others = rng.integers(0, 9, 40).astype(float), rng.integers(0, 7, 60).astype(float)
    expected = roc_auc_score(np.repeat([1, 0], [40, 60]), np.concatenate([edges, others]))
    assert area_under_curve(edges, others) == pytest.approx(expected)
