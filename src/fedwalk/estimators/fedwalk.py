"""`FedWalk`: a protocol between devices, simulated, as an estimator."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fedwalk.embedding import Embedding
from fedwalk.estimators.base import GraphEstimator
from fedwalk.protocols.ldp.edge_posterior import WeightedGraph
from fedwalk.protocols.ldp.reports import Reports
from fedwalk.protocols.ldp.stages import POSTERIOR, REPORTS
from fedwalk.protocols.paper.encoder import EncoderTable
from fedwalk.protocols.paper.stages import BINS, ENCODER, TREE, VECTORS
from fedwalk.protocols.paper.tree import Tree
from fedwalk.protocols.walks import Walks
from fedwalk.run.stages import StageProgress


class FedWalk(GraphEstimator):
    """FedWalk, or another protocol by name, simulated in this process.

    Parameters
    ----------
    protocol
        ``"paper"``: FedWalk as published; its ε is nominal. ``"ldp"``: ε-edge local differential privacy, proved. Or a
        protocol of another package.
    epsilon
        In `ldp` the total ε per edge of the whole run; in `paper` the ε of the noise and of the encoder.
    num_walks, walk_length
        Walks per node, and entries per walk.
    dim, window, negative
        SkipGram: dimensions, largest window, negative samples.
    seed
        Everything up to the walks is a function of it; with ``threads=1`` the vectors are, too.
    threads
        None for all cores.
    num_bins, predict, predictor, burst, tree, encoder
        `paper` only: bins of the group plan (None for ⌊ln n⌋); probability that a visit triggers the predictor, which
        one (tree, degree, triad), and how many entries it writes; the tree's builder (hybrid, average); the encoder
        (exponential, identity).
    embed
        ``"skipgram"`` on walks or ``"spectral"``; None for the protocol's default.
    runtime
        ``"local"`` (arrays) or ``"stepwise"`` (device objects, message by message).
    budget
        The largest ε per edge that may be released; None for no limit.
    options
        Settings that only this protocol has, by name.
    on_progress
        Called with (stage, done, total) during the run.

    Attributes
    ----------
    embedding_ : Embedding
        One vector per node, in the order of the graph's nodes.
    bins_, degree_vectors_, tree_, encoder_, walks_
        The value of each stage, over the nodes that took part (`taking_part_`). Each but the encoder can be passed to
        `fit` again, which then doesn't compute it. `stage` has the values of other stages.
    reports_, posterior_
        With ``protocol="ldp"``: the reported pairs, and how likely each is an edge.
    ledger_, transcript_, seconds_, settings_
        What was released and what it costs per edge; messages and bytes per phase; seconds per stage; the settings with
        bins, embed and threads decided.

    Examples
    --------
    >>> import fedwalk
    >>> graph = fedwalk.social_network(vertices=60, mean_degree=6, communities=3, seed=1)
    >>> model = fedwalk.FedWalk(num_walks=2, walk_length=10, dim=16, threads=1).fit(graph)
    >>> model.embedding_
    Embedding(60 nodes, 16 dimensions)
    >>> again = fedwalk.FedWalk(num_walks=2, walk_length=10, dim=16, threads=1, predict=0)
    >>> again.fit(graph, bins=model.bins_, degree_vectors=model.degree_vectors_, tree=model.tree_).walks_.hops_per_walk
    9.0
    """

    _centralised = False

    def __init__(
        self,
        *,
        protocol: str = "paper",
        epsilon: float = 2.0,
        num_walks: int = 80,
        walk_length: int = 40,
        dim: int = 128,
        window: int = 10,
        negative: int = 5,
        seed: int = 0,
        threads: int | None = None,
        num_bins: int | None = None,
        predict: float = 0.2,
        predictor: str = "tree",
        burst: int = 2,
        tree: str = "hybrid",
        encoder: str = "exponential",
        embed: str | None = None,
        runtime: str = "local",
        budget: float | None = None,
        options: Mapping[str, Any] | None = None,
        on_progress: StageProgress | None = None,
    ) -> None:
        self.protocol = protocol
        self.epsilon = epsilon
        self.num_walks = num_walks
        self.walk_length = walk_length
        self.dim = dim
        self.window = window
        self.negative = negative
        self.seed = seed
        self.threads = threads
        self.num_bins = num_bins
        self.predict = predict
        self.predictor = predictor
        self.burst = burst
        self.tree = tree
        self.encoder = encoder
        self.embed = embed
        self.runtime = runtime
        self.budget = budget
        self.options = options
        self.on_progress = on_progress

    def fit(
        self,
        graph: Any,
        y: object = None,
        *,
        bins: NDArray[np.integer[Any]] | None = None,
        degree_vectors: NDArray[np.floating[Any]] | None = None,
        tree: Tree | NDArray[np.float64] | None = None,
        walks: Walks | NDArray[np.integer[Any]] | None = None,
    ) -> Self:
        """Embed a graph: anything that `load_graph` takes.

        Parameters
        ----------
        graph
            A networkx graph, a matrix, an array or a frame of edges, a file, a `Graph`, …
        y
            Ignored; scikit-learn's convention.
        bins, degree_vectors, tree, walks
            Values of an earlier run's stages, which are then not computed again. A tree may be given as a
            linkage array.
        """
        return self._run(graph, bins=bins, degree_vectors=degree_vectors, tree=tree, walks=walks)

    def fit_transform(self, graph: Any, y: object = None) -> Embedding:
        """Embed a graph and return the embedding: `fit`, and then `embedding_`."""
        return self.fit(graph, y).embedding_

    @property
    def bins_(self) -> NDArray[np.int32]:
        """The bin of each node that took part."""
        return self.stage(BINS)

    @property
    def degree_vectors_(self) -> NDArray[np.float32]:
        """The noised degree vectors."""
        return self.stage(VECTORS)

    @property
    def tree_(self) -> Tree:
        """The hierarchical clustering tree."""
        return self.stage(TREE)

    @property
    def encoder_(self) -> EncoderTable:
        """The encoder's sparse table."""
        return self.stage(ENCODER)

    @property
    def reports_(self) -> Reports:
        """The pairs that the devices reported (`ldp`)."""
        return self.stage(REPORTS)

    @property
    def posterior_(self) -> WeightedGraph:
        """How likely each reported pair is an edge (`ldp`)."""
        return self.stage(POSTERIOR)
