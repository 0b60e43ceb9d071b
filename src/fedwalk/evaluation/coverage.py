"""Checks that an embedding has a vector for every vertex that is scored."""

from fedwalk.embedding import Embedding
from fedwalk.errors import InputError
from fedwalk.graph import Graph


def check_all_embedded(embedding: Embedding, graph: Graph, advice: str) -> None:
    """Raise InputError with this advice if a vertex of the graph isn't in the embedding."""
    if missing := [name for name in graph.names.tolist() if name not in embedding]:
        raise InputError(
            f"{len(missing)} of the graph's {graph.vertices} vertices are not in the embedding, for example "
            f"{missing[0]!r}. {advice}"
        )
