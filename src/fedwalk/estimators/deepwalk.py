"""`DeepWalk`: the centralised baseline as an estimator."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fedwalk.embedding import Embedding
from fedwalk.estimators.base import GraphEstimator
from fedwalk.protocols.deepwalk.protocol import PROTOCOL as BASELINE
from fedwalk.protocols.walks import Walks
from fedwalk.run.stages import StageProgress


class DeepWalk(GraphEstimator):
    """The centralised baseline: the same trainer on plain walks over the whole graph.

    Parameters
    ----------
    num_walks, walk_length, dim, window, negative, seed, threads, embed, budget, options, on_progress
        As in `FedWalk`.
    protocol
        Another protocol in which one party holds the whole graph.

    Examples
    --------
    >>> import fedwalk
    >>> fedwalk.DeepWalk(num_walks=2, dim=8, threads=1).fit_transform([[0, 1], [1, 2], [2, 0]])
    Embedding(3 nodes, 8 dimensions)
    """

    _centralised = True

    def __init__(
        self,
        *,
        num_walks: int = 80,
        walk_length: int = 40,
        dim: int = 128,
        window: int = 10,
        negative: int = 5,
        seed: int = 0,
        threads: int | None = None,
        embed: str | None = None,
        budget: float | None = None,
        protocol: str = BASELINE.name,
        options: Mapping[str, Any] | None = None,
        on_progress: StageProgress | None = None,
    ) -> None:
        self.num_walks = num_walks
        self.walk_length = walk_length
        self.dim = dim
        self.window = window
        self.negative = negative
        self.seed = seed
        self.threads = threads
        self.embed = embed
        self.budget = budget
        self.protocol = protocol
        self.options = options
        self.on_progress = on_progress

    def fit(self, graph: Any, y: object = None, *, walks: Walks | NDArray[np.integer[Any]] | None = None) -> Self:
        """Embed a graph: anything that `load_graph` takes; optionally from given walks."""
        return self._run(graph, walks=walks)

    def fit_transform(self, graph: Any, y: object = None) -> Embedding:
        """Embed a graph and return the embedding: `fit`, and then `embedding_`."""
        return self.fit(graph, y).embedding_
