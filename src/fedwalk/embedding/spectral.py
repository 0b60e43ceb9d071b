"""Spectral embedding of a weighted graph: the leading eigenvectors of D^−½ W D^−½, each times its eigenvalue's size.

Under the noise of protocol `ldp` this keeps more than walks and SkipGram do: a walk's every step may follow a pair that
is no edge, while an eigenvector averages over all of them at once.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.linalg import LinearOperator, eigsh
from threadpoolctl import threadpool_limits

from fedwalk.kernels.threads import Report, silent

TOLERANCE = 1e-2
"""Of the eigenvectors. Looser loses micro-F1 on BlogCatalog, tighter gains none."""
TREMBLE = 1e-4
"""The most that is added to the diagonal. A matrix of low rank makes ARPACK begin anew at random: it never gets to."""
USUAL_PRODUCTS = 5
"""Products with the matrix that a wanted eigenvector usually takes: what progress is measured against."""


def spectral(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    weights: NDArray[np.float32],
    *,
    dim: int = 128,
    seed: int = 0,
    report: Report = silent,
) -> NDArray[np.float32]:
    """A vector for each row of a symmetric matrix of weights; zero for an empty row.

    >>> ring = np.array([[1, 3], [0, 2], [1, 3], [0, 2]], np.int32)
    >>> spectral(np.arange(0, 9, 2), ring.ravel(), np.ones(8, np.float32), dim=2).shape
    (4, 2)
    """
    n = indptr.size - 1
    matrix = csr_array((weights, indices, indptr), shape=(n, n))
    strength = np.asarray(matrix.sum(axis=1), np.float64)
    scale = np.where(strength > 0, 1 / np.sqrt(np.maximum(strength, 1e-300)), 0).astype(np.float32)
    values, vectors = _leading(_scaled(matrix, scale), dim, seed, report)
    found = np.zeros((n, dim), np.float32)
    # Times √n, so that a vector's length doesn't depend on how many vertices there are.
    found[:, : values.size] = vectors * np.abs(values) * np.sqrt(n)
    found[strength <= 0] = 0
    return found


def _scaled(matrix: "csr_array", scale: NDArray[np.float32]) -> "csr_array":
    """D^−½ W D^−½, sharing the places of the entries."""
    row = np.repeat(scale, np.diff(matrix.indptr))
    return csr_array((matrix.data * row * scale[matrix.indices], matrix.indices, matrix.indptr), shape=matrix.shape)


def _leading(
    matrix: "csr_array", count: int, seed: int, report: Report
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The eigenvalues of largest size, descending, and their vectors, each with its largest entry positive."""
    n = matrix.shape[0]
    if n <= 2 * count + 2:
        values, vectors = np.linalg.eigh(matrix.toarray())
    else:
        rng = np.random.default_rng(seed)
        start = rng.standard_normal(n, dtype=np.float32)
        diagonal = TREMBLE * rng.random(n, dtype=np.float32)
        operator = _reporting(matrix, diagonal, USUAL_PRODUCTS * count, report)
        # Products of a matrix with one vector at a time: more threads wait for each other longer than they work.
        with threadpool_limits(1, "blas"):
            values, vectors = eigsh(operator, count, which="LM", tol=TOLERANCE, v0=start)
    order = np.argsort(-np.abs(values), kind="stable")[:count]
    values, vectors = values[order], vectors[:, order]
    signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(order.size)])
    return values, vectors * np.where(signs == 0, 1, signs)


def _reporting(matrix: "csr_array", diagonal: NDArray[np.float32], usual: int, report: Report) -> LinearOperator:
    """The matrix and a diagonal as a product that counts itself."""
    done = 0

    def product(vector: NDArray[np.float32]) -> NDArray[np.float32]:
        nonlocal done
        done += 1
        report(min(done, usual - 1), usual)
        return np.asarray(matrix @ vector + diagonal * vector)

    return LinearOperator(matrix.shape, matvec=product, dtype=np.float32)
