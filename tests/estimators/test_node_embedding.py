"""The estimators among scikit-learn's own: cloning, parameters, pipelines, cross-validation and searches."""

from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from fedwalk import DeepWalk, FedWalk, NodeEmbedding, evaluate, load_graph
from fedwalk.errors import InputError, SettingsError
from fedwalk.estimators import node_embedding

SMALL: dict[str, Any] = {"num_walks": 8, "walk_length": 20, "dim": 16, "threads": 1}


@pytest.fixture(scope="module")
def club() -> Any:
    """Two communities whose nodes are tuples, in an order that isn't sorted."""
    graph = nx.planted_partition_graph(2, 30, 0.35, 0.02, seed=3)
    side = {node: int(node >= 30) for node in graph}
    names = {node: (f"side {side[node]}", -node) for node in graph}
    return nx.relabel_nodes(graph, names)


def sides(nodes: list[Any]) -> list[str]:
    return [side for side, _ in nodes]


@pytest.fixture(autouse=True)
def _no_embedding_is_kept() -> None:
    node_embedding._kept.clear()


def as_array(nodes: list[Any]) -> Any:
    array = np.empty(len(nodes), dtype=object)
    array[:] = nodes
    return array


@pytest.mark.parametrize("model", [FedWalk(num_walks=3, predictor="triad"), DeepWalk(dim=5), FedWalk(protocol="ldp")])
def test_clone_and_parameters_follow_scikit_learn(model: FedWalk | DeepWalk) -> None:
    copy = clone(model)
    assert type(copy) is type(model)
    assert copy.get_params() == model.get_params()
    assert copy.set_params(dim=7) is copy
    assert copy.dim == copy.settings.dim == 7
    assert model.dim != 7
    with pytest.raises(ValueError, match="Invalid parameter 'wlaks'"):
        copy.set_params(wlaks=3)


def test_fit_returns_the_estimator_and_a_changed_parameter_counts(club: Any) -> None:
    model = DeepWalk(**SMALL)
    assert model.fit(club) is model
    assert list(model.embedding_) == list(club)
    assert model.set_params(dim=4).fit(club).embedding_.dim == 4
    with pytest.raises(SettingsError, match="dim = 0"):
        model.set_params(dim=0).fit(club)


def test_ten_lines_from_networkx_to_a_classifier(club: Any) -> None:
    nodes = list(club)
    vectors = FedWalk(protocol="ldp", epsilon=8.0, **SMALL).fit_transform(club)
    classifier = LogisticRegression().fit(vectors, sides(nodes))
    assert classifier.score(np.asarray(vectors), sides(nodes)) > 0.9


def test_an_embedding_is_scored_on_any_kind_of_graph_and_labels(club: Any) -> None:
    embedding = DeepWalk(**SMALL).fit_transform(club)
    labels = {node: node[0] for node in club}
    (score,) = evaluate(embedding, club, labels=labels, train_ratios=[0.5], splits=3)
    assert score.micro_f1 > 0.9
    assert evaluate(embedding, club, labels=sides(list(club)), train_ratios=[0.5], splits=3) == [score]


def test_a_pipeline_is_cross_validated_over_nodes_and_embeds_once(club: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fitted, run = list[Any](), FedWalk.fit

    def counted(self: FedWalk, *given: Any) -> FedWalk:
        fitted.append(self)
        return run(self, *given)

    monkeypatch.setattr(FedWalk, "fit", counted)
    model = FedWalk(protocol="ldp", epsilon=8.0, **SMALL)
    pipeline = Pipeline(
        [("embed", NodeEmbedding(club, model)), ("scale", StandardScaler()), ("classify", LogisticRegression())]
    )
    nodes = list(club)
    scores = cross_val_score(pipeline, as_array(nodes), sides(nodes), cv=4)
    assert scores.mean() > 0.85
    assert len(fitted) == 1
    assert not hasattr(model, "run_")


def test_a_grid_search_changes_the_parameters_of_the_embedding(club: Any) -> None:
    nodes, graph = list(club), load_graph(club)
    pipeline = make_pipeline(NodeEmbedding(graph, DeepWalk(**SMALL)), LogisticRegression())
    search = GridSearchCV(pipeline, {"nodeembedding__estimator__dim": [1, 8]}, cv=3)
    search.fit(as_array(nodes), sides(nodes))
    assert search.best_params_ == {"nodeembedding__estimator__dim": 8}
    best = search.best_estimator_["nodeembedding"]
    assert best.embedding_.dim == 8
    assert best.graph is graph


def test_nodes_may_be_a_list_an_array_a_series_or_a_column() -> None:
    transformer = NodeEmbedding([("a", "b"), ("b", "c")], DeepWalk(num_walks=2, dim=3, threads=1)).fit()
    expected = transformer.embedding_[["c", "a"]]
    column = np.array([["c"], ["a"]])
    for nodes in (["c", "a"], column[:, 0], column, pd.Series(["c", "a"], [5, 9]), pd.DataFrame({"node": ["c", "a"]})):
        np.testing.assert_array_equal(transformer.transform(nodes), expected)
    with pytest.raises(InputError, match=r"one column of nodes, got the shape \(2, 2\)"):
        transformer.transform(np.array([["a", "b"], ["b", "c"]]))
    with pytest.raises(KeyError, match="no node 'x'"):
        transformer.transform(["x"])
    frame = transformer.set_output(transform="pandas").transform(pd.Series(["c", "a"], [5, 9]))
    assert list(frame.columns) == ["embedding0", "embedding1", "embedding2"]


def test_a_kept_embedding_can_not_be_spoiled_and_belongs_to_the_same_nodes() -> None:
    calls = list[str]()
    model = DeepWalk(num_walks=2, dim=3, threads=1, on_progress=lambda stage, done, total: calls.append(stage))
    pairs = [((0, 1), (1, 2)), ((1, 2), (2, 3))]
    embedding = NodeEmbedding(pairs, model).fit().embedding_
    assert set(calls) == {"walks", "skipgram"}
    with pytest.raises(ValueError, match="read-only"):
        embedding.vectors *= 0
    as_text = NodeEmbedding([(str(u), str(v)) for u, v in pairs], model).fit().embedding_
    assert list(as_text) == ["(0, 1)", "(1, 2)", "(2, 3)"]


def test_a_missing_graph_and_a_missing_fit_are_named() -> None:
    with pytest.raises(InputError, match="there is no graph"):
        NodeEmbedding().fit()
    with pytest.raises(NotFittedError, match="call fit"):
        NodeEmbedding([("a", "b")]).transform(["a"])
    with pytest.raises(NotFittedError, match="call fit"):
        NodeEmbedding([("a", "b")]).get_feature_names_out()


def test_other_settings_and_other_graphs_have_embeddings_of_their_own() -> None:
    edges, more = [("a", "b"), ("b", "c")], [("a", "b"), ("b", "c"), ("c", "a")]
    model = DeepWalk(num_walks=2, dim=3, threads=1)
    first = NodeEmbedding(edges, model).fit().embedding_
    assert NodeEmbedding(edges, clone(model)).fit().embedding_ is first
    assert NodeEmbedding(more, model).fit().embedding_ is not first
    assert NodeEmbedding(edges, clone(model).set_params(seed=1)).fit().embedding_ is not first
    for seed in range(2, 2 + node_embedding.KEPT):
        NodeEmbedding(edges, clone(model).set_params(seed=seed)).fit()
    assert len(node_embedding._kept) == node_embedding.KEPT
