"""Link inference from the published vectors: the ends of an edge are closer to each other than other pairs are.

Embeddings are made to preserve edges, so this succeeds with every protocol whose embedding is useful. If the vectors
are computed from reports with a proved ε, that ε bounds what they reveal about any one edge.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fedwalk.attacks.finding import Finding
from fedwalk.attacks.scoring import area_under_curve, sample_pairs
from fedwalk.graph.graph import Graph
from fedwalk.graph.pairs import Pairs
from fedwalk.util.text import counted


@dataclass(frozen=True, slots=True, eq=False)
class PublicView:
    """A reader of the published embedding: has the vectors, and none of the messages."""

    observer: ClassVar[str] = "anyone"
    messages: ClassVar[tuple[type[Any], ...]] = ()
    beside: ClassVar[tuple[str, ...]] = ("vectors of the embedding",)
    vectors: NDArray[np.float32]


def dot_products(view: PublicView, pairs: Pairs) -> NDArray[np.float64]:
    """A score for each pair: the dot product of its ends."""
    first, second = view.vectors[pairs.T]
    return np.asarray(np.einsum("ij,ij->i", first, second), np.float64)


def cosines(view: PublicView, pairs: Pairs) -> NDArray[np.float64]:
    """A score for each pair: the cosine between its ends; 0 if one of the vectors is zero."""
    lengths = np.linalg.norm(view.vectors, axis=1)
    directions = view.vectors / np.where(lengths > 0, lengths, 1)[:, None]
    return dot_products(PublicView(directions.astype(np.float32)), pairs)


def find_links(graph: Graph, vectors: NDArray[np.float32], protocol: str, seed: int) -> Iterator[Finding]:
    """How well closeness tells edges from other pairs; every protocol that publishes its vectors allows this."""
    view = PublicView(vectors)
    edges, others = sample_pairs(graph, seed)
    if len(others) == 0:
        said = "Every pair that was drawn is an edge: there is nothing to tell apart."
        yield Finding.of("close vectors", protocol, view, {}, {}, said)
        return
    # Hubs are in many edges, so degrees alone already tell many edges from other pairs.
    degrees = [graph.degrees[pairs].prod(axis=1).astype(float) for pairs in (edges, others)]
    success = {
        "cosine_auc": area_under_curve(cosines(view, edges), cosines(view, others)),
        "dot_auc": area_under_curve(dot_products(view, edges), dot_products(view, others)),
    }
    said = (
        f"{counted(len(edges), 'edge', 'edges')} told from {counted(len(others), 'other pair', 'other pairs')} by how "
        "close the vectors of their ends are; the product of the true degrees is given for comparison."
    )
    baseline = {"auc": 0.5, "degree_auc": area_under_curve(*degrees)}
    yield Finding.of("close vectors", protocol, view, success, baseline, said)
