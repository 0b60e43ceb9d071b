"""The last steps of every protocol, with the run's settings: vectors from walks, or from a weighted graph."""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from fedwalk.embedding.skipgram import train
from fedwalk.embedding.spectral import spectral
from fedwalk.errors import SettingsError
from fedwalk.protocols.settings import Settings
from fedwalk.protocols.stages import Vectors
from fedwalk.protocols.walks import Walks
from fedwalk.util.parallel import Progress, ranges, run_tasks

WALKS_PER_TASK = 4096
"""Enough to hide a task's overhead, few enough for smooth progress and an even load."""


def check_steps(settings: Settings) -> None:
    """Raise SettingsError for walks without a step, in a protocol whose walks begin with their start vertex."""
    if settings.walk_length < 2:
        raise SettingsError(
            f"walk-length = {settings.walk_length} with protocol = {settings.protocol}: such a walk has only its start "
            "vertex. Use at least 2."
        )


def train_walks(walks: Walks, vertices: int, settings: Settings, on_progress: Progress) -> Vectors:
    """SkipGram on finished walks (Sec. 4.3)."""
    return train(
        walks.sequences,
        vertices,
        dim=settings.dim,
        window=settings.window,
        negative=settings.negative,
        seed=settings.seed,
        threads=settings.threads or 1,
        on_progress=on_progress,
    )


def embed_weighted(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    weights: NDArray[np.float32],
    settings: Settings,
    on_progress: Progress,
) -> Vectors:
    """The spectral embedding of a weighted graph in CSR form that one party holds."""
    return spectral(indptr, indices, weights, dim=settings.dim, seed=settings.seed, on_progress=on_progress)


def walk_alone(
    vertices: int, settings: Settings, on_progress: Progress, make_kernel: Callable[[], Callable[..., None]]
) -> Walks:
    """γ walks from every vertex by one party that holds the whole graph, so that nothing is sent.

    `make_kernel` is called once for each task: a kernel takes (begin, end, out), and its scratch memory must not be
    shared between threads.
    """
    count = vertices * settings.num_walks
    sequences = np.empty((count, settings.walk_length), np.int32)
    pieces = ranges(count, -(-count // WALKS_PER_TASK))
    tasks = [partial(make_kernel(), a, b, sequences[a:b]) for a, b in pieces]
    run_tasks(tasks, settings.threads or 1, on_progress, [b - a for a, b in pieces])
    return Walks(sequences, 0)
