"""Lay out the embedding in two dimensions, by principal components or by t-SNE initialised with them.

Vectors are first scaled to length one, because the similarity of SkipGram's vectors is in their directions.
"""

import numpy as np
from numpy.typing import NDArray

METHODS = ("tsne", "pca")
MAX_VERTICES = 20_000
"""Of larger graphs a sample is drawn: t-SNE would be slow and the map illegible. Row numbers also fit 16 bits."""
COMPONENTS = 30
"""Principal components that t-SNE works on, which makes it faster."""
PERPLEXITY = 30.0
THREADS = 2
"""t-SNE adds up the partial sums of its threads in the order they finish.

The sum of two is the same in either order; with more threads the result would differ from run to run.
"""
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


def lay_out(vectors: Vectors, method: str = "tsne") -> NDArray[np.float64]:
    """Two coordinates per vector.

    >>> lay_out(np.array([[3, 0], [0, 1], [0, 2]], np.float32), "pca").shape
    (3, 2)
    """
    flat = principal(unit(vectors), 2)
    spread = float(flat[:, 0].std()) if len(flat) else 0.0
    if method == "pca" or len(vectors) < MIN_FOR_TSNE or spread == 0:
        return flat
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    model = TSNE(
        perplexity=min(PERPLEXITY, (len(vectors) - 1) / 3),
        init=(flat / spread * 1e-4).astype(np.float32),
        random_state=0,
    )
    with threadpool_limits(THREADS, "openmp"):
        places = model.fit_transform(principal(unit(vectors), COMPONENTS).astype(np.float32))
    return np.asarray(places, np.float64)


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
