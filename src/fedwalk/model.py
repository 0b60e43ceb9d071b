"""The estimators: `FedWalk` and `DeepWalk`, one call from a graph to an Embedding."""

from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedwalk.embedding import Embedding
from fedwalk.errors import InputError, SettingsError
from fedwalk.graph import Graph, load_graph
from fedwalk.pipeline import Run, check_graph, run
from fedwalk.privacy.ledger import Ledger
from fedwalk.privacy.posterior import WeightedGraph
from fedwalk.privacy.reports import Reports
from fedwalk.protocol.encoder import EncoderTable
from fedwalk.protocol.transcript import Transcript
from fedwalk.protocol.tree import Tree
from fedwalk.protocol.walk import Walks
from fedwalk.settings import Settings
from fedwalk.stages import Progress, Stages


class FedWalk:
    """The FedWalk protocol, or its provably private sibling (``protocol="ldp"``), simulated in this process.

    Parameters
    ----------
    progress
        Called with (stage, done, total) as the run goes on.
    **settings
        Any of `Settings`, e.g. ``epsilon=2, walks=80, predictor="triad", seed=0``; the defaults are the paper's.

    Attributes
    ----------
    bins_, degree_vectors_, tree_, encoder_, walks_
        The value of each stage after `fit`, over the vertices that took part (`taking_part_`: all but the
        isolated ones). Each but the encoder can be passed to `fit` again, which then doesn't compute it.
    reports_, posterior_
        With ``protocol="ldp"``: the reported pairs, and how likely each is an edge.
    ledger_
        What was released, and what it costs per edge.
    transcript_
        Messages and bytes per phase.
    seconds_
        Seconds per stage.
    settings_
        The settings with bins and threads decided.

    Examples
    --------
    >>> import fedwalk
    >>> graph = fedwalk.social_network(vertices=60, mean_degree=6, communities=3, seed=1)
    >>> model = fedwalk.FedWalk(walks=2, walk_length=10, dim=16, threads=1)
    >>> embedding = model.fit(graph)
    >>> embedding.vectors.shape
    (60, 16)
    >>> again = fedwalk.FedWalk(walks=2, walk_length=10, dim=16, threads=1, predict=0)
    >>> _ = again.fit(graph, bins=model.bins_, degree_vectors=model.degree_vectors_, tree=model.tree_)
    >>> again.walks_.hops_per_walk
    9.0
    """

    def __init__(self, *, progress: Progress | None = None, **settings: Any) -> None:
        self.settings = Settings.from_mapping(_with_protocol(("paper", "ldp"), settings), "FedWalk")
        self.progress = progress

    def __repr__(self) -> str:
        return f"FedWalk({_changed(self.settings)})"

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
            Values of an earlier run's stages, to be used in place of computing them. A tree may be given as a
            linkage array.
        """
        loaded = load_graph(graph)
        stages = Stages(progress=self.progress)
        given = _given(loaded, self.settings, bins, degree_vectors, tree, walks)
        if given and self.settings.protocol == "ldp":
            raise InputError(
                f"{', '.join(given)}: protocol ldp takes no values from elsewhere, for which its ledger couldn't vouch."
            )
        stages.values.update(given)
        self.run_ = run(loaded, self.settings, stages)
        return self.run_.embedding

    @property
    def bins_(self) -> NDArray[np.int32]:
        """The bin of each vertex that took part."""
        return self._stage("bins")  # type: ignore[no-any-return]

    @property
    def degree_vectors_(self) -> NDArray[np.float32]:
        """The noised degree vectors."""
        return self._stage("vectors")  # type: ignore[no-any-return]

    @property
    def tree_(self) -> Tree:
        """The hierarchical clustering tree."""
        return self._stage("tree")  # type: ignore[no-any-return]

    @property
    def encoder_(self) -> EncoderTable:
        """The encoder's sparse table."""
        return self._stage("encoder")  # type: ignore[no-any-return]

    @property
    def walks_(self) -> Walks:
        """The finished walks."""
        return self._stage("walks")  # type: ignore[no-any-return]

    @property
    def reports_(self) -> Reports:
        """The pairs that the devices reported (`ldp`)."""
        return self._stage("lists")  # type: ignore[no-any-return]

    @property
    def posterior_(self) -> WeightedGraph:
        """How likely each reported pair is an edge (`ldp`)."""
        return self._stage("posterior")  # type: ignore[no-any-return]

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

    def _stage(self, name: str) -> Any:
        values = self._fitted().stages.values
        if name not in values:
            raise AttributeError(f"this run had no stage {name!r}; it had {', '.join(values)}.")
        return values[name]


class DeepWalk:
    """The centralised baseline: the same trainer on plain uniform walks over the whole graph.

    Parameters
    ----------
    progress
        Called with (stage, done, total) as the run goes on.
    **settings
        Those of `Settings` that have a meaning here: walk_length, walks, dim, window, negative, seed, threads.

    Examples
    --------
    >>> import fedwalk
    >>> fedwalk.DeepWalk(walks=2, dim=8, threads=1).fit([[0, 1], [1, 2], [2, 0]]).vectors.shape
    (3, 8)
    """

    def __init__(self, *, progress: Progress | None = None, **settings: Any) -> None:
        self.settings = Settings.from_mapping(_with_protocol(("deepwalk",), settings), "DeepWalk")
        self.progress = progress

    def __repr__(self) -> str:
        return f"DeepWalk({_changed(self.settings)})"

    def fit(self, graph: Any, *, walks: Walks | NDArray[np.integer[Any]] | None = None) -> Embedding:
        """Embed a graph: a `Graph`, or anything that `load_graph` takes; optionally from given walks."""
        loaded = load_graph(graph)
        stages = Stages(progress=self.progress)
        stages.values.update(_given(loaded, self.settings, None, None, None, walks))
        finished = run(loaded, self.settings, stages)
        self.walks_, self.seconds_, self.settings_ = finished.walks, stages.seconds(), finished.settings
        self.ledger_ = finished.ledger
        return finished.embedding


def _with_protocol(protocols: tuple[str, ...], settings: dict[str, Any]) -> dict[str, Any]:
    """The settings of an estimator, which runs these protocols and no other."""
    protocol = settings.get("protocol", protocols[0])
    if protocol not in protocols:
        raise SettingsError(
            f"protocol = {protocol!r}: this estimator runs {' or '.join(map(repr, protocols))}. "
            "FedWalk runs 'paper' and 'ldp', DeepWalk runs 'deepwalk'."
        )
    return {**settings, "protocol": protocol}


def _changed(settings: Settings) -> str:
    """The settings that differ from the defaults, as keyword arguments."""
    default = asdict(Settings())
    changed = {k: v for k, v in asdict(settings).items() if v != default[k] and (k, v) != ("protocol", "deepwalk")}
    return ", ".join(f"{k}={v!r}" for k, v in changed.items())


def _given(graph: Graph, settings: Settings, bins: Any, vectors: Any, tree: Any, walks: Any) -> dict[str, Any]:
    """The stage values that were passed in, checked against the graph."""
    check_graph(graph)
    n = int(np.count_nonzero(graph.degrees))
    given: dict[str, Any] = {}
    if bins is not None:
        k = settings.resolve(n).bins or 1
        _check_shape("bins", np.asarray(bins), (n,))
        if not np.array_equal(np.unique(bins), np.arange(k)):
            raise InputError(f"bins: must be whole numbers from 0 to {k - 1}, each used; make the model with bins=k.")
        given["bins"] = np.ascontiguousarray(bins, np.int32)
    if vectors is not None:
        given["vectors"] = np.ascontiguousarray(vectors, np.float32)
        _check_shape("degree_vectors", given["vectors"], (n, settings.resolve(n).bins))
        if not np.isfinite(given["vectors"]).all():
            raise InputError("degree_vectors: hold a number that is not finite.")
    if tree is not None:
        given["tree"] = tree if isinstance(tree, Tree) else Tree(np.asarray(tree))
        if given["tree"].leaves != n:
            raise InputError(f"tree: has {given['tree'].leaves} leaves, {n} vertices take part.")
    if walks is not None:
        given["walks"] = walks if isinstance(walks, Walks) else Walks(np.asarray(walks), None)
    return given


def _check_shape(name: str, array: NDArray[Any], shape: tuple[int | None, ...]) -> None:
    if array.shape != shape:
        raise InputError(f"{name}: expected the shape {shape}, one row per vertex that takes part; got {array.shape}.")
