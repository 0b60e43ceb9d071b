"""The estimators: one call from a graph to vectors, access to every stage, bad input refused."""

import inspect
import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from conftest import SETTINGS
from fedwalk import DeepWalk, Embedding, FedWalk, load_graph
from fedwalk.errors import FedWalkError, FedWalkWarning, InputError, SettingsError
from fedwalk.graph import Graph
from fedwalk.protocols import registry
from fedwalk.protocols.paper.stages import BINS, ENCODER, STAGES
from fedwalk.protocols.stages import SKIPGRAM, Stage
from fedwalk.settings import Settings


@pytest.fixture(scope="module")
def fitted(network: Graph) -> FedWalk:
    model = FedWalk(**SETTINGS)
    model.fit(network)
    return model


def stages_of(model: FedWalk) -> dict[str, Any]:
    return {
        "bins": model.bins_,
        "degree_vectors": model.degree_vectors_,
        "tree": model.tree_,
        "walks": model.walks_,
    }


def test_the_same_seed_gives_the_same_vectors(network: Graph, fitted: FedWalk) -> None:
    again = FedWalk(**SETTINGS).fit_transform(network)
    assert isinstance(again, Embedding)
    assert again.vectors.tobytes() == fitted.run_.embedding.vectors.tobytes()
    other = FedWalk(**{**SETTINGS, "seed": 6}).fit_transform(network)
    assert other.vectors.tobytes() != again.vectors.tobytes()


@pytest.mark.parametrize(
    "given",
    [
        ["bins"],
        ["degree_vectors"],
        ["tree"],
        ["walks"],
        ["bins", "degree_vectors"],
        ["bins", "tree"],
        ["bins", "degree_vectors", "tree"],
        ["bins", "degree_vectors", "tree", "walks"],
    ],
)
def test_stages_passed_in_again_give_the_same_result(given: list[str], network: Graph, fitted: FedWalk) -> None:
    again = FedWalk(**SETTINGS)
    embedding = again.fit(network, **{name: stages_of(fitted)[name] for name in given}).embedding_
    assert embedding.vectors.tobytes() == fitted.run_.embedding.vectors.tobytes()
    assert again.walks_.sequences.tobytes() == fitted.walks_.sequences.tobytes()
    computed = set(again.seconds_)
    assert computed.isdisjoint({"degree_vectors": "vectors"}.get(name, name) for name in given)


def test_stages_may_be_plain_lists_and_arrays(network: Graph, fitted: FedWalk) -> None:
    again = FedWalk(**SETTINGS)
    embedding = again.fit(
        network,
        bins=fitted.bins_.astype(np.int64),
        degree_vectors=fitted.degree_vectors_.astype(np.float64),
        tree=fitted.tree_.linkage,
        walks=fitted.walks_.sequences.astype(np.int64),
    ).embedding_
    assert embedding.vectors.tobytes() == fitted.run_.embedding.vectors.tobytes()


def test_another_stage_value_makes_a_difference(network: Graph, fitted: FedWalk) -> None:
    other = FedWalk(**SETTINGS)
    other.fit(network, bins=np.roll(fitted.bins_, 1))
    assert other.degree_vectors_.tobytes() != fitted.degree_vectors_.tobytes()
    assert np.array_equal(other.bins_, np.roll(fitted.bins_, 1))


def wrong_stages() -> dict[str, tuple[str, Any]]:
    n, k = 60, 4
    return {
        "too few bins": ("bins", np.zeros(n - 1, np.int32)),
        "bins as a table": ("bins", np.zeros((n, 1), np.int32)),
        "a bin above k - 1": ("bins", np.full(n, k)),
        "a negative bin": ("bins", np.full(n, -1)),
        "vectors of another k": ("degree_vectors", np.zeros((n, k + 1))),
        "vectors that are not finite": ("degree_vectors", np.full((n, k), np.nan)),
        "a tree of fewer leaves": ("tree", np.array([[0, 1, 1.0, 2]])),
        "an array that is no linkage": ("tree", np.zeros((n - 1, 4))),
        "walks in one row": ("walks", np.zeros(5, np.int32)),
        "walks to an id above the vertices": ("walks", np.full((3, 4), n)),
        "walks to a negative id": ("walks", np.full((3, 4), -1)),
        "walks of fractions": ("walks", np.full((3, 4), 0.5)),
    }


@pytest.mark.parametrize("case", wrong_stages())
def test_a_stage_value_that_does_not_fit_is_refused(case: str, network: Graph) -> None:
    name, value = wrong_stages()[case]
    with pytest.raises(InputError, match=rf"{'linkage|tree' if name == 'tree' else name}|walk"):
        FedWalk(**SETTINGS).fit(network, **{name: value})


def test_progress_is_called_for_every_stage_from_start_to_end(network: Graph) -> None:
    calls: list[tuple[str, int, int]] = []
    FedWalk(**SETTINGS, on_progress=lambda *news: calls.append(news)).fit(network)
    assert list(dict.fromkeys(stage for stage, _, _ in calls)) == [stage.name for stage in STAGES]
    for stage in STAGES:
        shares = [done / total for name, done, total in calls if name == stage.name]
        assert shares[0] == 0
        assert shares[-1] == 1
        assert all(0 <= share <= 1 for share in shares)
    calls.clear()
    DeepWalk(**SETTINGS, on_progress=lambda *news: calls.append(news)).fit(network)
    assert list(dict.fromkeys(stage for stage, _, _ in calls)) == ["walks", "skipgram"]


def test_an_error_in_the_callback_ends_the_run(network: Graph) -> None:
    def fail(*news: object) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        FedWalk(**SETTINGS, on_progress=fail).fit(network)


@pytest.mark.parametrize("estimator", [FedWalk, DeepWalk])
def test_names_survive_into_the_embedding(estimator: type[FedWalk | DeepWalk]) -> None:
    by_text = estimator(**SETTINGS).fit_transform([("zoë", "ann lee"), ("ann lee", "bob"), ("bob", "07")])
    assert list(by_text) == ["zoë", "ann lee", "bob", "07"]
    by_number = estimator(**SETTINGS).fit_transform(np.array([[900, -3], [-3, 7]]))
    assert list(by_number) == [900, -3, 7]


def test_every_kind_of_graph_gives_the_same_vectors(network_file: Path) -> None:
    pairs = np.loadtxt(network_file, dtype=np.int64)
    tied = nx.Graph()
    tied.add_edges_from(pairs.tolist())
    # As a list: in an array, the numbers 0 … n−1 are positions.
    sources: tuple[Any, ...] = (network_file, str(network_file), pairs.tolist(), tied)
    fitted = [FedWalk(**SETTINGS).fit_transform(source) for source in sources]
    assert len({embedding.vectors.tobytes() for embedding in fitted}) == 1
    assert {tuple(embedding) for embedding in fitted} == {tuple(tied)}


@pytest.mark.parametrize("estimator", [FedWalk, DeepWalk])
def test_isolated_vertices_cause_a_warning_and_get_zero_vectors(estimator: type[FedWalk | DeepWalk]) -> None:
    tied = nx.path_graph(["c", "a", "d"])
    tied.add_node("b")
    with pytest.warns(FedWalkWarning, match="1 isolated vertex takes no part"):
        embedding = estimator(**SETTINGS).fit_transform(tied)
    assert list(embedding) == ["c", "a", "d", "b"]
    assert [bool(embedding[name].any()) for name in "abcd"] == [True, False, True, True]


def test_an_isolated_vertex_changes_nothing_for_the_others() -> None:
    tied = nx.path_graph(6)
    alone = FedWalk(**SETTINGS).fit_transform(tied)
    tied.add_node(3.5)
    with pytest.warns(FedWalkWarning, match="isolated"):
        beside = FedWalk(**SETTINGS).fit_transform(tied)
    assert all(alone[name].tobytes() == beside[name].tobytes() for name in range(6))


@pytest.mark.parametrize("estimator", [FedWalk, DeepWalk])
@pytest.mark.parametrize("stages", [{}, {"walks": np.zeros((1, 3), np.int32)}])
def test_a_graph_without_edges_is_refused(estimator: type[FedWalk | DeepWalk], stages: dict[str, Any]) -> None:
    lonely, empty = nx.empty_graph(1), nx.empty_graph(3)
    with pytest.raises(InputError, match="has 1 vertex"):
        estimator().fit(lonely, **stages)
    with pytest.raises(InputError, match="3 vertices and no edges"):
        estimator().fit(empty, **stages)
    with pytest.raises(InputError, match="no nodes"):
        estimator().fit(nx.empty_graph(0), **stages)


def test_a_graph_without_edges_is_refused_before_its_stages_are_checked() -> None:
    with pytest.raises(InputError, match="no edges"):
        FedWalk().fit(nx.empty_graph(3), bins=np.zeros(0, np.int32), degree_vectors=np.zeros((0, 1)))


@pytest.mark.parametrize("estimator", [FedWalk, DeepWalk])
def test_two_vertices_are_enough(estimator: type[FedWalk | DeepWalk]) -> None:
    embedding = estimator(**SETTINGS).fit_transform([("a", "b")])
    assert embedding.vectors.shape == (2, 8)
    assert np.isfinite(embedding.vectors).all()


def test_many_bins_cause_one_warning(network: Graph) -> None:
    with pytest.warns(FedWalkWarning, match=r"bins = 9 is more than ln n = 4.1") as caught:
        FedWalk(**SETTINGS, num_bins=9).fit(network, degree_vectors=np.zeros((60, 9)))
    assert len(caught) == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epsilon": 0}, "epsilon = 0"),
        ({"predict": 1.5}, "predict = 1.5"),
        ({"walk_length": 2}, "walk-length = 2"),
        ({"options": {"keep": 1}}, "FedWalk: there is no setting 'keep'"),
        ({"protocol": "deepwalk"}, "protocol = 'deepwalk'"),
    ],
)
def test_bad_settings_are_refused_before_any_graph(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        FedWalk(**settings).fit("no such file")


def test_a_misspelt_parameter_is_refused_by_python_and_by_mypy() -> None:
    # mypy reports an ignore that isn't needed, so these two lines are also its test.
    with pytest.raises(TypeError, match="wlaks"):
        FedWalk(wlaks=80)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="epsilon"):
        DeepWalk(epsilon=2.0)  # type: ignore[call-arg]


def test_every_setting_is_a_documented_keyword_with_the_same_default() -> None:
    parameters = inspect.signature(FedWalk.__init__).parameters
    default = Settings()
    for name in (field.name for field in fields(Settings) if field.name != "own"):
        assert parameters[name].default == getattr(default, name)
        assert parameters[name].annotation is not inspect.Parameter.empty
        assert re.search(rf"^(\w+, )*{name}(, \w+)*$", str(inspect.getdoc(FedWalk)), re.MULTILINE), name
    assert {*parameters} - {"self", "options", "on_progress"} == {f.name for f in fields(Settings)} - {"own"}


def test_each_estimator_runs_its_own_protocol_only() -> None:
    assert FedWalk(protocol="paper").settings == FedWalk().settings
    with pytest.raises(SettingsError, match="'paper': DeepWalk runs protocols in which one party"):
        _ = DeepWalk(protocol="paper").settings


def test_a_centralised_protocol_of_another_package_is_run_as_a_baseline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registered", {})
    registry.register(replace(registry.find_protocol("deepwalk"), name="other"))
    other = DeepWalk(protocol="other", num_walks=2, dim=4, threads=1)
    assert repr(other) == "DeepWalk(dim=4, num_walks=2, protocol='other', threads=1)"
    ours = DeepWalk(num_walks=2, dim=4, threads=1).fit_transform([[0, 1], [1, 2]])
    assert other.fit_transform([[0, 1], [1, 2]]).vectors.tobytes() == ours.vectors.tobytes()


def test_more_bins_than_vertices_are_refused() -> None:
    with pytest.raises(FedWalkError, match="bins = 4"):
        FedWalk(num_bins=4).fit([[0, 1], [1, 2]])


def test_the_repr_of_an_estimator_has_the_changed_settings() -> None:
    assert repr(FedWalk(num_walks=3, predictor="triad")) == "FedWalk(num_walks=3, predictor='triad')"
    assert repr(DeepWalk(dim=4)) == "DeepWalk(dim=4)"


def test_stages_are_available_only_after_fitting(network: Graph, fitted: FedWalk) -> None:
    with pytest.raises(AttributeError, match=r"call fit\(graph\) first"):
        _ = FedWalk().tree_
    from_walks = FedWalk(**SETTINGS)
    from_walks.fit(network, walks=fitted.walks_)
    with pytest.raises(AttributeError, match="this run had no stage 'tree'"):
        _ = from_walks.tree_


def test_the_resolved_settings_and_the_participants_are_attributes() -> None:
    graph = load_graph([[0, 1], [1, 2], [3, 3]])
    model = FedWalk(**SETTINGS)
    with pytest.warns(FedWalkWarning, match="isolated"):
        model.fit(graph)
    assert model.taking_part_.tolist() == [0, 1, 2]
    assert model.settings_.num_bins == 1
    assert model.transcript_.traffic["vectors"].count == 3


def test_values_that_the_protocol_does_not_take_are_refused_by_the_name_of_the_argument(network: Graph) -> None:
    message = "degree_vectors: protocol ldp takes no such values from outside. Let the run compute them."
    with pytest.raises(InputError, match=f"^{message}$"):
        FedWalk(**SETTINGS, protocol="ldp").fit(network, degree_vectors=np.zeros((60, 4)))


def test_the_value_of_any_stage_can_be_looked_at(fitted: FedWalk) -> None:
    stages: tuple[Stage[Any], ...] = (BINS, ENCODER, SKIPGRAM)
    for stage in stages:
        assert fitted.stage(stage) is fitted.run_.stages.get(stage)
