"""Link inference from the published vectors: the ends of an edge lie closer together than strangers do.

This is what an embedding is for, so it succeeds wherever the embedding is any good, whatever the protocol. In `ldp` the
vectors are made from the lists alone, and ε bounds what they can tell about any one edge.
"""

import numpy as np
from numpy.typing import NDArray

from fedwalk.audit.pairs import Pairs
from fedwalk.audit.views import PublicView


def dot_products(view: PublicView, pairs: Pairs) -> NDArray[np.float64]:
    """A score for each pair: the dot product of its ends."""
    first, second = view.vectors[pairs.T]
    return np.asarray(np.einsum("ij,ij->i", first, second), np.float64)


def cosines(view: PublicView, pairs: Pairs) -> NDArray[np.float64]:
    """A score for each pair: the cosine between its ends, 0 where a vector is."""
    lengths = np.linalg.norm(view.vectors, axis=1)
    directions = view.vectors / np.where(lengths > 0, lengths, 1)[:, None]
    return dot_products(PublicView(directions.astype(np.float32)), pairs)
