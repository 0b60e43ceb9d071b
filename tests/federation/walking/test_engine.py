"""Walk engines that pass tokens in memory: the walks of `local` bit for bit, and of the same kind with fresh words."""

import itertools
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from fedwalk.federation.walking.engine import WalkEngine
from fedwalk.federation.walking.losses import STRANDED, UNDELIVERED
from fedwalk.federation.wire.token_batches import TokenBatch
from fedwalk.graph import Graph, load_graph
from fedwalk.privacy.randomness import Randomness, SimulatedRandomness, SystemRandomness
from fedwalk.protocols.paper.device import Device
from fedwalk.protocols.paper.messages import Sequence, Start
from fedwalk.protocols.paper.predictors import Broadcast, Predictor, find_predictor
from fedwalk.settings import Settings
from helpers.simulation import GRAPHS
from helpers.walk_questions import KEY, SMALL, local_answer, own_neighbours, random_owners, small_question, stages

Rows = NDArray[np.int32]


def make_engines(
    graph: Graph,
    settings: Settings,
    owner: Rows,
    randomness: Randomness | None = None,
    alive: NDArray[np.bool_] | None = None,
) -> dict[int, WalkEngine]:
    """A walk engine for each holder that takes part, its own walks queued."""
    source = randomness or SimulatedRandomness(settings.seed)
    partners = range(4) if alive is None else sorted(set(owner[alive].tolist()))
    made = {
        me: WalkEngine(small_question(graph, owner, me, settings, alive), own_neighbours(graph, owner, me), me, source)
        for me in partners
    }
    for engine in made.values():
        engine.begin()
    return made


def run(engines: dict[int, WalkEngine], seed: int = 0) -> None:
    """Advance and deliver tokens in random order, and in batches of random size, until no token is left."""
    rng = np.random.default_rng(seed)
    numbers = {pair: itertools.count() for pair in itertools.product(engines, engines)}
    waiting: dict[tuple[int, int], list[TokenBatch]] = {}
    while waiting or not all(engine.passive for engine in engines.values()):
        me = int(rng.choice([me for me, engine in engines.items() if not engine.passive] or list(engines)))
        for other, batch in engines[me].advance(int(rng.integers(1, 200))).items():
            waiting.setdefault((me, other), []).append(batch)
        if waiting and rng.random() < 0.7:
            pair = list(waiting)[rng.integers(len(waiting))]
            batch = TokenBatch.join(waiting.pop(pair))
            data = batch.to_bytes(bytes.fromhex(KEY), next(numbers[pair]))
            assert engines[pair[1]].receive(pair[0], data).accepted == len(batch)


def gather(engines: dict[int, WalkEngine], settings: Settings, vertices: int) -> Rows:
    """All finished walks by number, −1 for those that aren't."""
    rows = np.full((vertices * settings.num_walks, settings.walk_length), -1, np.int32)
    for engine in engines.values():
        walks, entries = engine.sequences()
        assert (np.diff(walks) > 0).all()
        assert len(walks) == engine.finished
        assert (rows[walks] == -1).all()
        rows[walks] = entries
    return rows


def assert_as_local(graph: Graph, settings: Settings, seed: int = 0) -> None:
    engines = make_engines(graph, settings, random_owners(graph, 4, seed))
    run(engines, seed)
    expected = local_answer(graph, settings)
    assert np.array_equal(gather(engines, settings, graph.vertices), expected.sequences)
    assert sum(engine.hops for engine in engines.values()) == expected.hops
    assert sum(engine.carried for engine in engines.values()) == expected.carried
    assert not any(engine.refused or engine.given_up.columns()[0].size for engine in engines.values())


@pytest.mark.parametrize("name", list(GRAPHS))
@pytest.mark.parametrize("predictor", ["tree", "degree", "triad"])
@pytest.mark.parametrize("predict", [0.0, 0.4, 1.0])
def test_four_engines_walk_as_local_does(name: str, predictor: str, predict: float) -> None:
    assert_as_local(GRAPHS[name], replace(SMALL, predictor=predictor, predict=predict, seed=3))


@pytest.mark.parametrize("burst", [1, 3, 13, 20])
@pytest.mark.parametrize("predictor", ["tree", "triad"])
def test_four_engines_walk_as_local_does_for_any_burst(burst: int, predictor: str) -> None:
    assert_as_local(GRAPHS["karate"], replace(SMALL, predictor=predictor, predict=0.6, burst=burst))


@pytest.mark.parametrize(
    "values", [{"epsilon": 0.05}, {"encoder": "identity"}, {"walk_length": 1, "predict": 0.0}, {"seed": 2**62}]
)
def test_four_engines_walk_as_local_does_for_other_settings(values: dict[str, Any]) -> None:
    assert_as_local(GRAPHS["communities"], replace(SMALL, **values))


@hypothesis_settings(max_examples=25)
@given(st.integers(0, 2**32))
def test_the_order_in_which_tokens_travel_changes_no_walk(seed: int) -> None:
    assert_as_local(GRAPHS["communities"], SMALL, seed)


def test_a_single_holder_walks_alone() -> None:
    graph = GRAPHS["karate"]
    (engine,) = make_engines(graph, SMALL, np.zeros(34, np.int32), alive=np.ones(34, np.bool_)).values()
    assert engine.advance() == {}
    assert np.array_equal(engine.sequences()[1], local_answer(graph, SMALL).sequences)


def test_an_engine_receives_tokens_while_it_advances_others() -> None:
    graph, settings = GRAPHS["communities"], replace(SMALL, num_walks=60)
    engines = make_engines(graph, settings, random_owners(graph, 4))
    numbers = {pair: itertools.count() for pair in itertools.product(engines, engines)}
    with ThreadPoolExecutor(4) as pool:
        advancing = {me: pool.submit(engine.advance, 100) for me, engine in engines.items()}
        while any(advancing[me].result() or not engine.passive for me, engine in engines.items()):
            for me, engine in engines.items():
                handed, advancing[me] = advancing[me].result(), pool.submit(engine.advance, 100)
                for other, batch in handed.items():
                    data = batch.to_bytes(engine.key, next(numbers[me, other]))
                    assert engines[other].receive(me, data).accepted == len(batch)
    assert np.array_equal(gather(engines, settings, graph.vertices), local_answer(graph, settings).sequences)


# With words of the operating system.


def test_every_step_of_a_plain_walk_follows_an_edge_chosen_uniformly() -> None:
    """Chi-square over all steps from each vertex; fails by chance once in a million runs."""
    graph = load_graph(np.array([[0, 1], [0, 2], [0, 3], [1, 2], [3, 4]]))
    settings = replace(SMALL, num_walks=400, walk_length=20, predict=0.0, encoder="identity")
    engines = make_engines(graph, settings, random_owners(graph, 4), SystemRandomness())
    run(engines)
    rows = gather(engines, settings, 5)
    path = np.column_stack([np.arange(len(rows)) % 5, rows])
    steps = np.zeros((5, 5))
    np.add.at(steps, (path[:, :-1].ravel(), path[:, 1:].ravel()), 1)
    edges = np.array([[v in graph.neighbours(u) for v in range(5)] for u in range(5)])
    assert not steps[~edges].any()
    expected = (steps.sum(axis=1) / graph.degrees)[:, None]
    statistic = (((steps - expected) ** 2 / expected) * edges).sum()
    assert stats.chi2.sf(statistic, int((graph.degrees - 1).sum())) > 1e-6


@pytest.mark.parametrize("predictor", ["tree", "degree", "triad"])
def test_fresh_words_give_walks_of_the_same_kind_as_simulated_ones(predictor: str) -> None:
    """The last entries as a two-sample chi-square, the hops within 7 standard deviations: 1e-6 and 3e-8 by chance."""
    graph = GRAPHS["karate"]
    settings = replace(SMALL, num_walks=100, predictor=predictor, predict=0.5, burst=3, epsilon=0.01)
    engines = make_engines(graph, settings, random_owners(graph, 4), SystemRandomness())
    run(engines)
    rows = gather(engines, settings, graph.vertices)
    assert rows.min() >= 0
    # The stages before the walks stay those of one seed: only the walks are drawn anew.
    simulated = [
        make_engines(graph, settings, random_owners(graph, 4), SimulatedRandomness(seed)) for seed in range(100, 140)
    ]
    for others in simulated:
        run(others)
    last = np.bincount(rows[:, -1], minlength=34)
    of_others = sum(np.bincount(gather(others, settings, 34)[:, -1], minlength=34) for others in simulated[:5])
    table = np.array([last, of_others])[:, (last + of_others) > 0]
    assert stats.chi2_contingency(table).pvalue > 1e-6
    hops = [sum(engine.hops for engine in others.values()) for others in simulated]
    assert abs(sum(engine.hops for engine in engines.values()) - np.mean(hops)) < 7 * np.std(hops, ddof=1)


def test_no_word_is_used_twice() -> None:
    """Two walks of these would be alike by chance less than once in a million runs."""
    graph = GRAPHS["karate"]
    settings = replace(SMALL, predict=0.0)
    first, second = (make_engines(graph, settings, random_owners(graph, 4), SystemRandomness()) for _ in range(2))
    run(first)
    run(second)
    rows = np.concatenate([gather(engines, settings, 34) for engines in (first, second)])
    # Each vertex of degree 9 or more starts six walks of 13 entries: no two are alike.
    hubs = rows[np.isin(np.arange(len(rows)) % 34, np.flatnonzero(graph.degrees >= 9))]
    assert len(np.unique(hubs, axis=0)) == len(hubs)


# When some holders are no part of it.


def living_oracle(graph: Graph, settings: Settings, alive: NDArray[np.bool_], patch: pytest.MonkeyPatch) -> list[Any]:
    """Device objects with their living neighbours and a predictor that knows who is alive."""
    made, table = stages(graph, settings)
    predictor = find_predictor(settings.predictor)

    def extend(tables: Any, *rest: Any) -> int:
        further = predictor.extend(tables, *rest)
        return further if further >= 0 and alive[further] else -1

    living = Predictor(predictor.name, predictor.min_remaining, predictor.prepare, extend)
    patch.setattr("fedwalk.protocols.paper.device.find_predictor", lambda name: living)
    tables = predictor.prepare(Broadcast(made.plan.bins, made.vectors, made.tree))
    randomness = SimulatedRandomness(settings.seed)
    neighbours = [graph.neighbours(v)[alive[graph.neighbours(v)]] for v in range(graph.vertices)]
    devices = [Device(v, own, randomness) for v, own in enumerate(neighbours)]
    for device in devices:
        device.learn(table, tables)
    ends: list[Any] = []
    for walk in range(settings.num_walks * graph.vertices):
        at, message = walk % graph.vertices, None
        while alive[at] and neighbours[at].size and not isinstance(message, Sequence):
            start = Start(at, walk, settings.walk_length, settings.epsilon, settings.predict)
            message = devices[at].visit(message) if message else devices[at].begin(start)
            at = getattr(message, "device", at)
        ends.append(list(message.entries) if isinstance(message, Sequence) else None)
    return ends


@pytest.mark.parametrize("predictor", ["tree", "degree", "triad"])
@pytest.mark.parametrize("name", ["communities", "karate", "path"])
def test_devices_of_lost_holders_are_never_visited(name: str, predictor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = GRAPHS[name]
    settings = replace(SMALL, predictor=predictor, predict=0.7, burst=3, encoder="identity")
    owner = random_owners(graph, 4, seed=1)
    alive = owner != 2
    engines = make_engines(graph, settings, owner, alive=alive)
    run(engines)
    rows = gather(engines, settings, graph.vertices)
    finished = rows[:, 0] >= 0
    assert alive[rows[finished]].all()
    started = int(alive[np.arange(len(rows)) % graph.vertices].sum())
    assert sum(engine.given_up.count(STRANDED) for engine in engines.values()) == started - finished.sum()
    expected = living_oracle(graph, settings, alive, monkeypatch)
    assert [row.tolist() if row[0] >= 0 else None for row in rows] == expected


def test_without_a_living_neighbour_a_walk_strands() -> None:
    graph = GRAPHS["star"]
    owner = np.array([3, *[i % 3 for i in range(11)]], np.int32)
    engines = make_engines(graph, SMALL, owner, alive=owner != 3)
    assert all(engine.advance() == {} and engine.passive for engine in engines.values())
    assert sum(engine.given_up.count(STRANDED) for engine in engines.values()) == 3 * 11
    assert sum(engine.hops + engine.finished for engine in engines.values()) == 0


def test_walks_with_undeliverable_tokens_are_given_up() -> None:
    graph = GRAPHS["communities"]
    engine = make_engines(graph, SMALL, random_owners(graph, 4))[0]
    handed = engine.advance()
    for other, batch in handed.items():
        engine.undeliverable(other, batch)
    assert engine.given_up.count(UNDELIVERED) == sum(map(len, handed.values())) > 0
    walks, reasons, at = engine.given_up.columns()
    assert set(reasons.tolist()) == {UNDELIVERED}
    assert {(w, h) for h, batch in handed.items() for w in batch.walk.tolist()} == {
        *zip(walks.tolist(), at.tolist(), strict=True)
    }
