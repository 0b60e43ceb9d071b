"""SkipGram on finished walks: how the server turns the sequences it received into vectors (Sec. 4 of the paper).

This is one epoch of word2vec's SkipGram with negative sampling, with its dynamic window, its noise distribution
(counts to the power ¾) and its linearly decreasing learning rate. It differs from word2vec in three ways:

- the context words of a window share the negatives of its centre, which turns the work into small matrix products
  (see `fedwalk.kernels.skipgram`); every pair still has `negative` negatives;
- the negatives of a walk are chosen from a pool of candidates drawn for that walk (see `fedwalk.kernels.windows`);
- every draw is a function of the seed and the walk's number, so one thread gives the same vectors on every run.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import InputError, SettingsError
from fedwalk.kernels.skipgram import LANES
from fedwalk.kernels.windows import Model, Plan, alias_table, initial_vectors, train_walks
from fedwalk.util.parallel import Progress, ranges, run_tasks, silent

_CHUNK_ENTRIES = 200_000
"""Entries of walks that a thread trains between two calls of `on_progress`: a fraction of a second."""


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
    on_progress: Progress = silent,
) -> NDArray[np.float32]:
    """Train a vector for every vertex from the walks that visit it.

    Parameters
    ----------
    walks : array of shape (walks, length)
        Vertex ids. It may be a read-only memory map: it is read twice, block by block, and never copied as a whole.
    vertices : int
        The number of vertices; all ids in the walks are below it.
    dim, window, negative : int
        The length of a vector, the largest window to each side, and the number of negatives for each centre.
    seed : int
        Determines the initial vectors, the windows and the negatives.
    threads : int
        With one thread, the same input and seed give the same bits on the same machine. With more, the threads
        share the vectors without locks (Hogwild): as good on average, but not repeatable.
    start_rate, end_rate : float
        The learning rate decreases linearly from the first to the second, walk by walk.
    on_progress : callable
        Called as ``on_progress(done_entries, total_entries)`` between blocks. An exception that it raises stops the
        training.

    Returns
    -------
    array of float32, shape (vertices, dim)
        Row v is the vector of vertex v; it is zero if no walk visits v.

    Raises
    ------
    InputError
        If the walks are not a table of integers from 0 to ``vertices - 1``.
    SettingsError
        If a parameter is out of range, or if the learning rate is so high that the training diverges.

    Examples
    --------
    >>> walks = np.array([[0, 1, 0, 1], [2, 3, 2, 3]] * 50)
    >>> vectors = train(walks, 5, dim=8, window=2)
    >>> vectors.shape, vectors[4].any()
    ((5, 8), np.False_)
    """
    _check(walks, vertices, dim, window, negative, threads)
    counts = _count(walks, vertices)
    # Rows are padded to whole SIMD registers.
    stride = -(-dim // LANES) * LANES
    # Allocated by numpy, not in the kernel, because numpy requests huge pages from the system.
    inputs, outputs = np.zeros(vertices * stride, np.float32), np.zeros(vertices * stride, np.float32)
    initial_vectors(counts, dim, stride, seed, inputs)
    model = Model(inputs, outputs, stride)
    if walks.size:
        noise = alias_table(counts**0.75)
        plan = Plan(window, negative, seed, len(walks), start_rate, end_rate)
        _run(lambda first, block: train_walks(block, first, model, noise, plan), walks, threads, on_progress)
    if not np.isfinite(inputs).all():
        raise SettingsError(f"the training diverged: start_rate = {start_rate} is too high for these walks; lower it")
    return np.ascontiguousarray(inputs.reshape(vertices, stride)[:, :dim])


def _check(walks: NDArray[Any], vertices: int, dim: int, window: int, negative: int, threads: int) -> None:
    """Raise an error for input on which the kernel, which checks nothing, would crash."""
    if walks.ndim != 2 or not np.issubdtype(walks.dtype, np.integer):
        raise InputError(
            f"walks must be a table (walks × length) of vertex ids, got {walks.ndim} dimension(s) of {walks.dtype}"
        )
    for name, value in (("dim", dim), ("window", window), ("negative", negative), ("threads", threads)):
        if value < 1:
            raise SettingsError(f"{name} must be at least 1, got {value}")
    if vertices < 0:
        raise SettingsError(f"vertices must not be negative, got {vertices}")


def _blocks(walks: NDArray[Any], entries: int) -> Iterator[tuple[int, NDArray[Any]]]:
    """Blocks of walks with about `entries` entries each, with the number of their first walk."""
    size = max(1, entries // max(1, walks.shape[1]))
    for first in range(0, len(walks), size):
        yield first, walks[first : first + size]


def _count(walks: NDArray[Any], vertices: int) -> NDArray[np.int64]:
    """How often each vertex occurs. This is also where every id is checked."""
    counts = np.zeros(vertices, np.int64)
    for first, block in _blocks(walks, 2**20):
        bad = (block < 0) | (block >= vertices)
        if bad.any():
            row, column = np.argwhere(bad)[0]
            raise InputError(
                f"walk {first + row}, position {column}: vertex id {block[row, column]} is not in "
                f"0 … {vertices - 1}; map the names of vertices to ids before training"
            )
        counts += np.bincount(block.ravel(), minlength=vertices)
    return counts


def _run(
    work: Callable[[int, NDArray[np.int32]], None], walks: NDArray[Any], threads: int, on_progress: Progress
) -> None:
    """Train one block after the other; each is divided into one range of walks per thread."""
    done = 0
    for first, block in _blocks(walks, _CHUNK_ENTRIES * threads):
        # Blocks are copied so that the kernel is compiled only once, for plain arrays, and not also for memory maps.
        part = np.array(block, np.int32, order="C")
        run_tasks([partial(work, first + a, part[a:b]) for a, b in ranges(len(part), threads)], threads)
        done += part.size
        on_progress(done, walks.size)
