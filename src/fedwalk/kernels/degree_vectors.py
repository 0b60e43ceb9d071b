"""Degree vectors of all devices at once (Sec. 4.2, Device operation 1)."""

import numpy as np
from numpy.typing import NDArray

from fedwalk.kernels.jit import kernel
from fedwalk.kernels.random import NOISE, draw, laplace, stream


@kernel
def noised_counts(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    plan: NDArray[np.int32],
    scale: float,
    seed: int,
    out: NDArray[np.float32],
) -> None:
    """Fill out[v, i] with c_v[i] = |N(v) ∩ bin i| + Lap(0, scale), with noise from the vertex's own stream."""
    k = out.shape[1]
    # One buffer for all vertices: an allocation per vertex would cost more than the counting.
    counts = np.empty(k, np.int64)
    for v in range(out.shape[0]):
        counts[:] = 0
        for u in indices[indptr[v] : indptr[v + 1]]:
            counts[plan[u]] += 1
        key = stream(seed, NOISE, v)
        # Added in double precision and rounded once: what leaves a device is the 32-bit number.
        for i in range(k):
            out[v, i] = np.float32(counts[i] + laplace(draw(key, i), scale))
