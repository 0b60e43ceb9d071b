"""The trainer against a slow twin in plain Python, and against gensim where quality is concerned."""

import math
from pathlib import Path

import numpy as np
import pytest
from gensim.models import Word2Vec
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

from fedwalk.embedding.skipgram import train
from fedwalk.errors import InputError, SettingsError
from fedwalk.kernels.random import TRAINING, draw, stream, uniform
from fedwalk.kernels.windows import POOL, alias_table

Floats = NDArray[np.float32]
GROUP, BLOCK, RATE = 6, 2, 0.2


def slow_train(
    walks: NDArray[np.int32], vertices: int, dim: int, window: int, negative: int, seed: int
) -> NDArray[np.float64]:
    """The same updates with the same draws, a pair at a time, in double precision."""
    counts = np.bincount(walks.ravel(), minlength=vertices)
    cut, alias = alias_table(counts**0.75)
    key = stream(seed, TRAINING, 0)
    start = np.array([[chance(key, v * dim + d) for d in range(dim)] for v in range(vertices)])
    inputs, outputs = np.where(counts[:, None] > 0, (2 * start - 1) / dim, 0), np.zeros((vertices, dim))
    for number, walk in enumerate(walks):
        key = stream(seed, TRAINING, number + 1)
        rate = RATE - (RATE - 0.0001) * number / len(walks)
        pool = [aliased(chance(key, len(walk) * (1 + negative) + j), cut, alias) for j in range(POOL)]
        for p, centre in enumerate(walk):
            counter = p * (1 + negative)
            span = 1 + int(chance(key, counter) * window)
            context = [walk[q] for q in range(p - span, p + span + 1) if 0 <= q < len(walk) and q != p]
            targets = [centre, *(pool[int(chance(key, counter + j) * POOL)] for j in range(1, 1 + negative))]
            for first in range(0, len(targets), GROUP):
                slots = [j for j in range(first, min(first + GROUP, len(targets))) if targets[j] not in targets[:j]]
                for begin in range(0, len(context), BLOCK):
                    slow_step(inputs, outputs, context[begin : begin + BLOCK], targets, slots, rate)
    return inputs


def chance(key: np.uint64, counter: int) -> float:
    return uniform(np.uint64(draw(np.uint64(key), counter)))


def aliased(x: float, cut: Floats, alias: NDArray[np.int32]) -> int:
    v = int(x * len(cut))
    return v if x * len(cut) - v < cut[v] else int(alias[v])


def slow_step(
    inputs: NDArray[np.float64],
    outputs: NDArray[np.float64],
    context: list[int],
    targets: list[int],
    slots: list[int],
    rate: float,
) -> None:
    """Gains of a block of context words against some outputs, then the moves, context after context."""
    gains = [[((j == 0) - 1 / (1 + math.exp(-inputs[u] @ outputs[targets[j]]))) * rate for j in slots] for u in context]
    for u, row in zip(context, gains, strict=True):
        before = inputs[u].copy()
        for gain, j in zip(row, slots, strict=True):
            inputs[u] += gain * outputs[targets[j]]
            outputs[targets[j]] += gain * before


def random_walks(vertices: int, count: int, length: int) -> NDArray[np.int32]:
    return np.random.default_rng(7).integers(0, vertices, (count, length)).astype(np.int32)


@pytest.mark.parametrize(
    ("dim", "window", "negative"), [(16, 3, 5), (128, 10, 5), (1, 1, 1), (5, 2, 3), (9, 4, 6), (24, 30, 13)]
)
def test_kernel_makes_the_updates_of_a_plain_loop(dim: int, window: int, negative: int) -> None:
    walks = random_walks(20, 60, 12)
    fast = train(walks, 20, dim=dim, window=window, negative=negative, seed=3, start_rate=RATE)
    slow = slow_train(walks, 20, dim, window, negative, seed=3)
    untrained = train(walks, 20, dim=dim, seed=3, start_rate=0, end_rate=0)
    assert np.abs(slow - untrained).max() > 0.05 * np.abs(untrained).max(), "nothing learnt, nothing compared"
    np.testing.assert_allclose(fast, slow, rtol=2e-3, atol=2e-4 * np.abs(slow).max())


def test_one_thread_repeats_itself_to_the_bit_whatever_the_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    walks = random_walks(50, 300, 20)
    once = train(walks, 50, dim=32, seed=1)
    monkeypatch.setattr("fedwalk.embedding.skipgram._CHUNK_ENTRIES", 170)
    assert np.array_equal(once, train(walks, 50, dim=32, seed=1))
    assert not np.array_equal(once, train(walks, 50, dim=32, seed=2))


def test_vertices_that_walk_together_end_up_alike() -> None:
    rng = np.random.default_rng(0)
    walks = np.concatenate([rng.integers(0, 10, (300, 20)), rng.integers(10, 20, (300, 20))])
    vectors = train(rng.permutation(walks), 20, dim=16, window=5)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosine = unit @ unit.T
    assert cosine[:10, :10].min() > cosine[:10, 10:].max()


def test_a_vertex_no_walk_passes_keeps_a_zero_vector() -> None:
    vectors = train(random_walks(10, 100, 10) * 2, 20, dim=12)
    assert not vectors[1::2].any()
    assert vectors[::2].any(axis=1).all()


@pytest.mark.parametrize("window", [10, 60])
@pytest.mark.parametrize("leaves", [1, 3, 400])
def test_a_star_stays_finite_though_every_window_repeats_the_hub(leaves: int, window: int) -> None:
    walks = np.zeros((4000, 40), np.int32)
    walks[:, 1::2] = np.random.default_rng(0).integers(1, 1 + leaves, (4000, 20))
    vectors = train(walks, 1 + leaves, dim=32, window=window, start_rate=0.1)
    assert np.isfinite(vectors).all()
    assert np.linalg.norm(vectors, axis=1).max() < 20


def test_a_rate_that_makes_the_training_diverge_is_reported() -> None:
    with pytest.raises(SettingsError, match=r"diverged: start_rate = 50"):
        train(random_walks(10, 500, 20), 10, dim=8, start_rate=50)


def test_walks_may_lie_in_a_read_only_file_and_be_of_any_integer_type(tmp_path: Path) -> None:
    walks = random_walks(30, 100, 15)
    np.save(tmp_path / "walks.npy", walks)
    mapped = np.load(tmp_path / "walks.npy", mmap_mode="r")
    expected = train(walks, 30, dim=8)
    assert np.array_equal(train(mapped, 30, dim=8), expected)
    assert np.array_equal(train(np.asfortranarray(walks, np.uint16), 30, dim=8), expected)


def test_threads_learn_as_much_as_one() -> None:
    walks = random_walks(200, 3000, 20)
    one, two = train(walks, 200, dim=32), train(walks, 200, dim=32, threads=2)
    assert np.linalg.norm(two) == pytest.approx(np.linalg.norm(one), rel=0.05)


def test_progress_counts_entries_and_can_stop_the_training() -> None:
    seen: list[tuple[int, int]] = []
    train(random_walks(5, 25_000, 20), 5, dim=4, window=1, on_progress=lambda done, total: seen.append((done, total)))
    assert len(seen) > 1
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})
    assert seen[-1] == (500_000, 500_000)

    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(random_walks(5, 100, 20), 5, dim=4, on_progress=interrupt)


@pytest.mark.parametrize("shape", [(0, 10), (3, 0), (4, 1)])
def test_walks_without_pairs_leave_the_initial_vectors(shape: tuple[int, int]) -> None:
    vectors = train(np.zeros(shape, np.int32), 3, dim=4)
    assert vectors.shape == (3, 4)
    assert np.abs(vectors).max() <= 1 / 4


@pytest.mark.parametrize("bad", [-1, 10])
def test_a_number_outside_the_vertices_is_named_with_its_place(bad: int) -> None:
    walks = random_walks(10, 60_000, 20)
    walks[58_123, 4] = bad
    with pytest.raises(InputError, match=rf"walk 58123, position 4: vertex id {bad} "):
        train(walks, 10)


def test_walks_that_are_no_table_of_numbers_are_refused() -> None:
    with pytest.raises(InputError, match="1 dimension"):
        train(np.zeros(4, np.int32), 1)
    with pytest.raises(InputError, match="float64"):
        train(np.zeros((2, 2)), 1)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["dim", "window", "negative", "threads"])
def test_a_setting_below_one_is_refused_by_name(name: str) -> None:
    with pytest.raises(SettingsError, match=f"{name} must be at least 1"):
        train(np.zeros((1, 2), np.int32), 1, **{name: 0})  # type: ignore[arg-type]


def test_alias_table_draws_each_vertex_by_its_weight() -> None:
    weights = np.array([0.0, 3.0, 1.0, 0.0, 6.0, 0.5])
    cut, alias = alias_table(weights)
    share = cut / len(weights) + np.bincount(alias, (1 - cut) / len(weights), minlength=len(weights))
    np.testing.assert_allclose(share, weights / weights.sum(), atol=1e-7)
    assert share[0] == share[3] == 0


def community_walks(per_vertex: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Walks on a planted partition, hard enough that no trainer recovers it completely; and the communities."""
    rng = np.random.default_rng(5)
    community = np.repeat(np.arange(8), 50)
    chance = np.where(community[:, None] == community, 0.10, 0.022)
    linked = np.triu(rng.random(chance.shape) < chance, 1)
    neighbours = [np.flatnonzero(row) for row in linked | linked.T]
    walks = np.empty((per_vertex * len(community), 20), np.int32)
    for walk, v in zip(walks, rng.permutation(np.tile(np.arange(len(community)), per_vertex)), strict=True):
        for step in range(len(walk)):
            walk[step] = v
            v = rng.choice(neighbours[v]) if len(neighbours[v]) else v
    return walks, community


def accuracy(vectors: Floats, community: NDArray[np.int64]) -> float:
    return float(cross_val_score(LogisticRegression(max_iter=2000), vectors, community, cv=5).mean())


def test_communities_are_found_as_well_as_from_gensim() -> None:
    walks, community = community_walks(per_vertex=20)
    model = Word2Vec(
        [list(map(str, walk)) for walk in walks.tolist()],
        vector_size=32, window=5, negative=5, sg=1, sample=0, min_count=0, epochs=1, workers=1, seed=1,
    )  # fmt: skip
    theirs = accuracy(np.array([model.wv[str(v)] for v in range(len(community))]), community)
    ours = accuracy(train(walks, len(community), dim=32, window=5), community)
    assert 0.3 < theirs < 0.98
    assert ours >= theirs - 0.05
