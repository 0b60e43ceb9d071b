"""The estimators: `FedWalk` and `DeepWalk`, one call from a graph to an Embedding."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

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


class FedWalk:
    """FedWalk, or another protocol by name (``protocol="ldp"``: proved privacy), simulated in this process.

    Parameters
    ----------
    on_progress
        Called with (stage, done, total) during the run.
    **settings
        Any of `Settings`, e.g. ``epsilon=2, num_walks=80, predictor="triad", seed=0``; the defaults are the paper's.

    Attributes
    ----------
    bins_, degree_vectors_, tree_, encoder_, walks_
        The value of each stage after `fit`, over the vertices that took part (`taking_part_`: in `ldp` all, otherwise
        those with a neighbour). Each but the encoder can be passed to `fit` again, which then doesn't compute it.
        `stage` has the values of other stages.
    reports_, posterior_
        With ``protocol="ldp"``: the reported pairs, and how likely each is an edge.
    ledger_
        What was released, and what it costs per edge.
    transcript_
        Messages and bytes per phase.
    seconds_
        Seconds per stage.
    settings_
        The settings with bins, embed and threads decided.

    Examples
    --------
    >>> import fedwalk
    >>> graph = fedwalk.social_network(vertices=60, mean_degree=6, communities=3, seed=1)
    >>> model = fedwalk.FedWalk(num_walks=2, walk_length=10, dim=16, threads=1)
    >>> embedding = model.fit(graph)
    >>> embedding.vectors.shape
    (60, 16)
    >>> again = fedwalk.FedWalk(num_walks=2, walk_length=10, dim=16, threads=1, predict=0)
    >>> _ = again.fit(graph, bins=model.bins_, degree_vectors=model.degree_vectors_, tree=model.tree_)
    >>> again.walks_.hops_per_walk
    9.0
    """

    def __init__(self, *, on_progress: StageProgress | None = None, **settings: Any) -> None:
        self.settings = Settings.from_mapping(settings, "FedWalk")
        if find_protocol(self.settings.protocol).centralised:
            raise SettingsError(
                f"protocol = {self.settings.protocol!r}: FedWalk runs protocols in which devices keep "
                "their neighbour lists. DeepWalk runs those in which one party holds the graph."
            )
        self.on_progress = on_progress

    def __repr__(self) -> str:
        return f"FedWalk({_changed(self.settings, Settings().protocol)})"

    def fit(
        self,
        graph: Any,
        *,
        bins: NDArray[np.integer[Any]] | None = None,
        degree_vectors: NDArray[np.floating[Any]] | None = None,
        tree: Tree | NDArray[np.float64] | None = None,
        walks: Walks | NDArray[np.integer[Any]] | None = None,
    ) -> Embedding:
        """Embed a graph: a `Graph`, or anything that `load_graph` takes.

        Parameters
        ----------
        graph
            A `Graph`, a path, a networkx graph, a scipy sparse matrix or an edge array.
        bins, degree_vectors, tree, walks
            Values of an earlier run's stages, which are then not computed again. A tree may be given as a
            linkage array.
        """
        loaded = load_graph(graph)
        stages = StageRunner(on_progress=self.on_progress)
        stages.values.update(_given(loaded, self.settings, bins, degree_vectors, tree, walks))
        self.run_ = run(loaded, self.settings, stages)
        return self.run_.embedding

    @property
    def bins_(self) -> NDArray[np.int32]:
        """The bin of each vertex that took part."""
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
    def walks_(self) -> Walks:
        """The finished walks."""
        return self.stage(WALKS)

    @property
    def reports_(self) -> Reports:
        """The pairs that the devices reported (`ldp`)."""
        return self.stage(REPORTS)

    @property
    def posterior_(self) -> WeightedGraph:
        """How likely each reported pair is an edge (`ldp`)."""
        return self.stage(POSTERIOR)

    @property
    def ledger_(self) -> Ledger:
        """What was released, and what it costs."""
        return self._fitted().ledger

    @property
    def taking_part_(self) -> NDArray[np.int64]:
        """Ids of the vertices that took part."""
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
        """The settings as resolved for the graph."""
        return self._fitted().settings

    def _fitted(self) -> Run:
        if not hasattr(self, "run_"):
            raise AttributeError("FedWalk isn't fitted yet: call fit(graph) first.")
        return self.run_

    def stage(self, stage: Stage[T]) -> T:
        """The value of a stage of the protocol."""
        stages = self._fitted().stages
        if not stages.has(stage):
            raise AttributeError(f"this run had no stage {stage.name!r}; it had {', '.join(stages.values)}.")
        return stages.get(stage)


class DeepWalk:
    """The centralised baseline: the same trainer on plain uniform walks over the whole graph.

    ``protocol`` may name another protocol in which one party holds the whole graph.

    Parameters
    ----------
    on_progress
        Called with (stage, done, total) during the run.
    **settings
        Those of `Settings` that have a meaning here: walk_length, walks, embed, dim, window, negative, seed, threads,
        budget.

    Examples
    --------
    >>> import fedwalk
    >>> fedwalk.DeepWalk(num_walks=2, dim=8, threads=1).fit([[0, 1], [1, 2], [2, 0]]).vectors.shape
    (3, 8)
    """

    def __init__(self, *, on_progress: StageProgress | None = None, **settings: Any) -> None:
        self.settings = Settings.from_mapping({"protocol": BASELINE.name, **settings}, "DeepWalk")
        if not find_protocol(self.settings.protocol).centralised:
            raise SettingsError(
                f"protocol = {self.settings.protocol!r}: DeepWalk runs protocols in which one party holds the graph. "
                "FedWalk runs the others."
            )
        self.on_progress = on_progress

    def __repr__(self) -> str:
        return f"DeepWalk({_changed(self.settings, BASELINE.name)})"

    def fit(self, graph: Any, *, walks: Walks | NDArray[np.integer[Any]] | None = None) -> Embedding:
        """Embed a graph: a `Graph`, or anything that `load_graph` takes; optionally from given walks."""
        loaded = load_graph(graph)
        stages = StageRunner(on_progress=self.on_progress)
        stages.values.update(_given(loaded, self.settings, None, None, None, walks))
        finished = run(loaded, self.settings, stages)
        self.walks_, self.seconds_, self.settings_ = finished.walks, stages.seconds(), finished.settings
        self.ledger_ = finished.ledger
        return finished.embedding


def _changed(settings: Settings, protocol: str) -> str:
    """The settings that differ from the defaults, as keyword arguments."""
    default = {**Settings(protocol=settings.protocol).as_dict(), "protocol": protocol}
    changed = {name: value for name, value in settings.as_dict().items() if value != default[name]}
    return ", ".join(f"{name}={value!r}" for name, value in changed.items())


def _given(graph: Graph, settings: Settings, bins: Any, vectors: Any, tree: Any, walks: Any) -> dict[str, Any]:
    """The stage values that were passed in, checked against the graph."""
    check_graph(graph)
    values = {"bins": bins, "degree_vectors": vectors, "tree": tree, "walks": walks}
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
