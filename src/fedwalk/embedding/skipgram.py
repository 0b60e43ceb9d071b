"""SkipGram over finished walks: what the server does with the sequences it received (section 4 of the paper).

One pass of word2vec's SkipGram with negative sampling, with its dynamic window, its noise distribution
(counts to the power ¾) and its linearly falling rate. Three things differ from word2vec's own loop:

- the negatives of a centre are shared by the context words of its window, which turns the work into small
  matrix products (see `fedwalk.kernels.skipgram`); each pair still meets `negative` of them;
- the negatives of a walk are picked from a pool of candidates drawn for that walk (see `fedwalk.kernels.windows`);
- every draw is a function of the seed and the walk's number, so one thread gives the same vectors on every run.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import InputError, SettingsError
from fedwalk.kernels.skipgram import LANES
from fedwalk.kernels.threads import Report, ranges, run_tasks, silent
from fedwalk.kernels.windows import Model, Plan, alias_table, initial_vectors, train_walks

_CHUNK_TOKENS = 200_000
"""Tokens a thread trains between two calls of `progress`: a fraction of a second."""


def train(
    walks: NDArray[np.integer[Any]],
    vertices: int,
    *,
    dim: int = 128,
    window: int = 10,
    negative: int = 5,
    seed: int = 0,
    threads: int = 1,
    start_rate: float = 0.025,
    end_rate: float = 0.0001,
    progress: Report = silent,
) -> NDArray[np.float32]:
    """Learn a vector for every vertex from the walks that pass it.

    Parameters
    ----------
    walks : array of shape (walks, length)
        Vertex numbers. May be a read-only memory map: it is read block by block, twice, and never copied whole.
    vertices : int
        How many vertices there are; the walks hold numbers below it.
    dim, window, negative : int
        Length of a vector, context positions to each side at most, negatives drawn for each centre.
    seed : int
        Fixes the initial vectors, the windows and the negatives.
    threads : int
        With one, the same input and seed give the same bits on the same machine. With more, threads share the
        vectors without locks (Hogwild): as good on average, but not repeatable.
    start_rate, end_rate : float
        The learning rate falls linearly from one to the other, walk by walk.
    progress : callable
        Called as ``progress(done_tokens, total_tokens)`` between blocks; an exception it raises ends the training.

    Returns
    -------
    array of float32, shape (vertices, dim)
        Row v is the vector of vertex v; zero for a vertex that no walk passes.

    Raises
    ------
    InputError
        If the walks are not a table of whole numbers from 0 to ``vertices - 1``.
    SettingsError
        If a parameter is out of range, or the learning rate so high that the vectors grow without bound.

    Examples
    --------
    >>> walks = np.array([[0, 1, 0, 1], [2, 3, 2, 3]] * 50)
    >>> vectors = train(walks, 5, dim=8, window=2)
    >>> vectors.shape, vectors[4].any()
    ((5, 8), np.False_)
    """
    _check(walks, vertices, dim, window, negative, threads)
    counts = _count(walks, vertices)
    stride = -(-dim // LANES) * LANES
    # Made by numpy, not in the kernel: numpy asks the system for huge pages.
    inputs, outputs = np.zeros(vertices * stride, np.float32), np.zeros(vertices * stride, np.float32)
    initial_vectors(counts, dim, stride, seed, inputs)
    model = Model(inputs, outputs, stride)
    if walks.size:
        noise = alias_table(counts**0.75)
        plan = Plan(window, negative, seed, len(walks), start_rate, end_rate)
        _run(lambda first, block: train_walks(block, first, model, noise, plan), walks, threads, progress)
    if not np.isfinite(inputs).all():
        raise SettingsError(f"the training diverged: start_rate = {start_rate} is too high for these walks; lower it")
    return np.ascontiguousarray(inputs.reshape(vertices, stride)[:, :dim])


def _check(walks: NDArray[Any], vertices: int, dim: int, window: int, negative: int, threads: int) -> None:
    """Refuse what the kernel could not survive."""
    if walks.ndim != 2 or not np.issubdtype(walks.dtype, np.integer):
        raise InputError(
            f"walks must be a table (walks × length) of vertex numbers, got {walks.ndim} dimension(s) of {walks.dtype}"
        )
    for name, value in (("dim", dim), ("window", window), ("negative", negative), ("threads", threads)):
        if value < 1:
            raise SettingsError(f"{name} must be at least 1, got {value}")
    if vertices < 0:
        raise SettingsError(f"vertices must not be negative, got {vertices}")


def _blocks(walks: NDArray[Any], tokens: int) -> Iterator[tuple[int, NDArray[Any]]]:
    """Ranges of walks of about `tokens` tokens, each with the number of its first walk."""
    size = max(1, tokens // max(1, walks.shape[1]))
    for first in range(0, len(walks), size):
        yield first, walks[first : first + size]


def _count(walks: NDArray[Any], vertices: int) -> NDArray[np.int64]:
    """How often each vertex occurs; also the place where every number is checked."""
    counts = np.zeros(vertices, np.int64)
    for first, block in _blocks(walks, 2**20):
        bad = (block < 0) | (block >= vertices)
        if bad.any():
            row, column = np.argwhere(bad)[0]
            raise InputError(
                f"walk {first + row}, position {column}: vertex number {block[row, column]} is not in "
                f"0 … {vertices - 1}; map the names of vertices to row numbers before training"
            )
        counts += np.bincount(block.ravel(), minlength=vertices)
    return counts


def _run(work: Callable[[int, NDArray[np.int32]], None], walks: NDArray[Any], threads: int, progress: Report) -> None:
    """Train block after block, each cut into one range of walks per thread."""
    done = 0
    for first, block in _blocks(walks, _CHUNK_TOKENS * threads):
        # A copy of the block: the kernel is compiled once, for plain arrays, not for read-only maps as well.
        part = np.array(block, np.int32, order="C")
        run_tasks([partial(work, first + a, part[a:b]) for a, b in ranges(len(part), threads)], threads)
        done += part.size
        progress(done, walks.size)
