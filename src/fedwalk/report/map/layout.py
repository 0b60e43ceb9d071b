"""Lay out the embedding in two dimensions, by principal components or by t-SNE initialised with them.

Vectors are first scaled to length one, because the similarity of SkipGram's vectors is in their directions.
"""

import numpy as np
from numpy.typing import NDArray

from fedwalk.util.parallel import Progress, silent

METHODS = ("tsne", "pca")
MAX_VERTICES = 20_000
"""Of larger graphs a sample is drawn: t-SNE would be slow and the map illegible. Row numbers also fit 16 bits."""
PERPLEXITY = 30.0
START_WIDTH = 1e-4
"""Standard deviation of the points that t-SNE starts with: small, so that clusters can still pass each other."""
MIN_FOR_TSNE = 12
"""With fewer vertices, principal components are drawn instead."""

BLOCK = 512
"""Number of vectors compared with all others at a time, which bounds the memory."""

Vectors = NDArray[np.float32]


def rows_to_draw(vectors: Vectors, max_rows: int = MAX_VERTICES) -> NDArray[np.int64]:
    """The rows that aren't zero, as those of isolated vertices are; or a sample of them, the same every time.

    >>> rows_to_draw(np.array([[1, 0], [0, 0], [0, 2]], np.float32)).tolist()
    [0, 2]
    """
    rows = np.flatnonzero(vectors.any(axis=1))
    if rows.size <= max_rows:
        return rows
    return np.sort(np.random.default_rng(0).choice(rows, max_rows, replace=False))


def unit(vectors: Vectors) -> Vectors:
    """Vectors scaled to length one; none of them may be zero."""
    exact = vectors.astype(np.float64)  # in float32, the squares of small numbers underflow to zero
    return np.asarray(exact / np.linalg.norm(exact, axis=1, keepdims=True), np.float32)


def principal(vectors: Vectors, count: int) -> NDArray[np.float64]:
    """The first `count` principal components of the vectors; zeros if there are fewer."""
    centred = vectors - vectors.mean(axis=0, dtype=np.float64)
    _, axes = np.linalg.eigh(centred.T @ centred)
    axes = axes[:, ::-1][:, :count]
    # The sign of an eigenvector is arbitrary; a rule makes the layout the same on every machine.
    largest = np.abs(axes).argmax(axis=0)
    axes = axes * np.sign(axes[largest, np.arange(axes.shape[1])])
    return np.pad(centred @ axes, ((0, 0), (0, max(0, count - axes.shape[1]))))


def lay_out(vectors: Vectors, method: str = "tsne", on_progress: Progress = silent) -> NDArray[np.float64]:
    """Two coordinates per vector.

    >>> lay_out(np.array([[3, 0], [0, 1], [0, 2]], np.float32), "pca").shape
    (3, 2)
    """
    flat = principal(unit(vectors), 2)
    width = float(flat[:, 0].std()) if len(flat) else 0.0
    if method == "pca" or len(vectors) < MIN_FOR_TSNE or width == 0:
        return flat
    perplexity = min(PERPLEXITY, (len(vectors) - 1) / 3)
    rows, cosines = nearest(vectors, round(3 * perplexity))
    # Loads scipy's transforms and the kernels, which a page without t-SNE doesn't need.
    from fedwalk.report.map.tsne import affinities, tsne

    return tsne(affinities(rows, cosines, perplexity), flat / width * START_WIDTH, on_progress)


def nearest(vectors: Vectors, count: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """For each vector, the rows of the `count` others with the largest cosine, best first, and the cosines.

    >>> rows, cosines = nearest(np.array([[1, 0], [0.9, 0.1], [0, 1]], np.float32), 2)
    >>> rows.tolist(), cosines.round(2).tolist()[0]
    ([[1, 2], [0, 2], [1, 0]], [0.9900000095367432, 0.0])
    """
    directions, count = unit(vectors), min(count, len(vectors) - 1)
    best = np.empty((len(vectors), count), np.int64)
    cosines = np.empty((len(vectors), count), np.float32)
    for start in range(0, len(vectors) if count else 0, BLOCK):
        block = directions[start : start + BLOCK] @ directions.T
        own = np.arange(len(block))
        block[own, start + own] = -np.inf
        # argpartition finds the best without sorting all; only these are then sorted.
        top = np.argpartition(-block, count - 1, axis=1)[:, :count]
        order = np.argsort(-np.take_along_axis(block, top, axis=1), axis=1, kind="stable")
        rows = np.take_along_axis(top, order, axis=1)
        best[start : start + BLOCK] = rows
        cosines[start : start + BLOCK] = np.take_along_axis(block, rows, axis=1)
    return best, cosines
