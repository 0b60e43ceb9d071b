"""The estimators, in scikit-learn's manner: `FedWalk` and `DeepWalk` embed a graph.

`FedWalk().fit(graph).embedding_` is the whole of it. The parameters of an estimator are the `Settings` of a run, each
with its own keyword, and are checked when it is fitted; `get_params`, `set_params` and `clone` work as in scikit-learn.
"""

from collections.abc import Callable, Mapping
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from fedwalk.embedding import Embedding
from fedwalk.errors import InputError, SettingsError
from fedwalk.graph import Graph, load_graph
from fedwalk.privacy.ledger import Ledger
from fedwalk.protocols.deepwalk.protocol import PROTOCOL as BASELINE
from fedwalk.protocols.ldp.edge_posterior import WeightedGraph
from fedwalk.protocols.ldp.reports import Reports
from fedwalk.protocols.ldp.stages import POSTERIOR, REPORTS
from fedwalk.protocols.paper.encoder import EncoderTable
from fedwalk.protocols.paper.stages import BINS, ENCODER, TREE, VECTORS
from fedwalk.protocols.paper.tree import Tree
from fedwalk.protocols.registry import find_protocol
from fedwalk.protocols.stages import WALKS, Stage
from fedwalk.protocols.transcript import Transcript
from fedwalk.protocols.walks import Walks
from fedwalk.run.execute import Run, check_graph, participants, run
from fedwalk.run.stages import StageProgress, StageRunner
from fedwalk.settings import Settings

T = TypeVar("T")

STAGE_OF: dict[str, Stage[Any]] = {"bins": BINS, "degree_vectors": VECTORS, "tree": TREE, "walks": WALKS}
"""The stage of each value that `fit` takes, by the name of its argument."""
NOT_SETTINGS = ("on_progress", "options")
"""Parameters of the estimators that aren't `Settings` themselves."""


class _GraphEstimator(BaseEstimator):  # type: ignore[misc]
    """What `FedWalk` and `DeepWalk` share: parameters to settings, the run, and what it left."""

    _centralised: bool
    """Whether it runs the protocols in which one party holds the graph, or the others."""
    protocol: str
    on_progress: StageProgress | None
    options: Mapping[str, Any] | None

    @property
    def settings(self) -> Settings:
        """The parameters as checked `Settings`; SettingsError if one of them can't be used."""
        default = type(self)().get_params()
        # A default isn't a choice: the protocol has to read only what the user has set.
        chosen = {name: value for name, value in self.get_params().items() if value != default[name]}
        for name in NOT_SETTINGS:
            chosen.pop(name, None)
        chosen["protocol"] = self.protocol
        return self._checked(Settings.from_mapping({**chosen, **(self.options or {})}, type(self).__name__))

    def _checked(self, settings: Settings) -> Settings:
        """The settings, unless they are of a protocol that the other estimator runs."""
        if find_protocol(settings.protocol).centralised != self._centralised:
            ours, theirs = (
                "one party holds the graph" if centralised else "devices keep their neighbour lists"
                for centralised in (self._centralised, not self._centralised)
            )
            raise SettingsError(
                f"protocol = {settings.protocol!r}: {type(self).__name__} runs protocols in which {ours}. "
                f"{'FedWalk' if self._centralised else 'DeepWalk'} runs those in which {theirs}."
            )
        return settings

    def _run(self, graph: Any, **given: Any) -> Self:
        settings = self.settings
        loaded = load_graph(graph)
        stages = StageRunner(on_progress=self.on_progress)
        stages.values.update(_given(loaded, settings, given))
        self.run_ = run(loaded, settings, stages)
        return self

    @property
    def embedding_(self) -> Embedding:
        """One vector per node, in the order of the graph's nodes."""
        return self._fitted().embedding

    @property
    def walks_(self) -> Walks:
        """The finished walks; empty for a spectral embedding."""
        return self._fitted().walks

    @property
    def ledger_(self) -> Ledger:
        """What was released, and what it costs per edge."""
        return self._fitted().ledger

    @property
    def taking_part_(self) -> NDArray[np.int64]:
        """Rows of the nodes that took part: in `ldp` all, otherwise those with a neighbour."""
        return self._fitted().taking_part

    @property
    def transcript_(self) -> Transcript:
        """Messages and bytes per phase."""
        return self._fitted().stages.total()

    @property
    def seconds_(self) -> dict[str, float]:
        """Seconds per stage."""
        return self._fitted().stages.seconds()

    @property
    def settings_(self) -> Settings:
        """The settings as resolved for the graph: bins, embed and threads decided."""
        return self._fitted().settings

    def stage(self, stage: Stage[T]) -> T:
        """The value of a stage of the protocol."""
        stages = self._fitted().stages
        if not stages.has(stage):
            raise AttributeError(f"this run had no stage {stage.name!r}; it had {', '.join(stages.values)}.")
        return stages.get(stage)

    def _fitted(self) -> Run:
        if not hasattr(self, "run_"):
            raise NotFittedError(f"{type(self).__name__} isn't fitted yet: call fit(graph) first.")
        fitted: Run = self.run_
        return fitted


class FedWalk(_GraphEstimator):
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


class DeepWalk(_GraphEstimator):
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


def _given(graph: Graph, settings: Settings, values: Mapping[str, Any]) -> dict[str, Any]:
    """The stage values that were passed in, checked against the graph."""
    check_graph(graph)
    given = {STAGE_OF[name].name: value for name, value in values.items() if value is not None}
    accepted = {stage.name for stage in find_protocol(settings.protocol).accepts}
    if refused := [name for name, stage in STAGE_OF.items() if stage.name in given.keys() - accepted]:
        raise InputError(
            f"{', '.join(refused)}: protocol {settings.protocol} takes no such values from outside. Let the run "
            "compute them."
        )
    if not given:
        return {}
    n = participants(graph, settings)[0].vertices
    num_bins = settings.resolve(n).num_bins or 1
    checks: dict[str, Callable[[Any], Any]] = {
        BINS.name: lambda value: _check_bins(value, n, num_bins),
        VECTORS.name: lambda value: _check_vectors(value, (n, num_bins)),
        TREE.name: lambda value: _check_tree(value, n),
        WALKS.name: lambda value: value if isinstance(value, Walks) else Walks(np.asarray(value), None),
    }
    return {name: checks[name](value) for name, value in given.items()}


def _check_bins(bins: Any, n: int, num_bins: int) -> NDArray[np.int32]:
    _check_shape("bins", np.asarray(bins), (n,))
    if not np.array_equal(np.unique(bins), np.arange(num_bins)):
        raise InputError(
            f"bins: must be whole numbers from 0 to {num_bins - 1}, each used. For another number of bins, set "
            "FedWalk(num_bins=K)."
        )
    return np.ascontiguousarray(bins, np.int32)


def _check_vectors(vectors: Any, shape: tuple[int, int]) -> NDArray[np.float32]:
    checked = np.ascontiguousarray(vectors, np.float32)
    _check_shape("degree_vectors", checked, shape)
    if not np.isfinite(checked).all():
        raise InputError("degree_vectors: contain a number that isn't finite.")
    return checked


def _check_tree(tree: Any, n: int) -> Tree:
    checked = tree if isinstance(tree, Tree) else Tree(np.asarray(tree))
    if checked.leaves != n:
        raise InputError(f"tree: has {checked.leaves} leaves, but {n} vertices take part.")
    return checked


def _check_shape(name: str, array: NDArray[Any], shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        raise InputError(f"{name}: expected the shape {shape}, one row per vertex that takes part; got {array.shape}.")
