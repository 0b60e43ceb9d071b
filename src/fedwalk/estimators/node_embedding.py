"""`NodeEmbedding`: a transformer from nodes to their vectors, for scikit-learn's pipelines.

Its graph is a parameter, and its X is an array of nodes, so that a split of the nodes into training and test rows works
as with any other data. The embedding itself is made from the whole graph, without labels.
"""

from collections import OrderedDict
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.exceptions import NotFittedError

from fedwalk.embedding import Embedding
from fedwalk.errors import InputError
from fedwalk.estimators.deepwalk import DeepWalk
from fedwalk.estimators.fedwalk import FedWalk
from fedwalk.graph import Graph, load_graph
from fedwalk.graph.names import Nodes
from fedwalk.settings import Settings

KEPT = 4
"""How many embeddings are kept in memory, so that the folds of a cross-validation share one."""
_kept: "OrderedDict[tuple[str, Nodes | None, Settings], Embedding]" = OrderedDict()


class NodeEmbedding(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Nodes in, vectors out: the first step of a pipeline that classifies nodes.

    Parameters
    ----------
    graph
        Anything that `load_graph` takes. scikit-learn copies the parameters of an estimator for every fold; the result
        of `load_graph` is never copied.
    estimator : FedWalk or DeepWalk, optional
        How the graph is embedded; by default ``FedWalk()``. Its parameters can be searched:
        ``GridSearchCV(pipeline, {"embed__estimator__epsilon": [1, 2, 4]})``.

    Attributes
    ----------
    embedding_ : Embedding
        The vectors of all nodes.

    Examples
    --------
    >>> import fedwalk
    >>> graph = fedwalk.social_network(vertices=60, mean_degree=6, communities=3, seed=1)
    >>> nodes = NodeEmbedding(graph, fedwalk.DeepWalk(num_walks=2, dim=8, threads=1))
    >>> nodes.fit_transform([4, 0, 7]).shape
    (3, 8)
    """

    def __init__(self, graph: Any = None, estimator: FedWalk | DeepWalk | None = None) -> None:
        self.graph = graph
        self.estimator = estimator

    def fit(self, X: Any = None, y: object = None) -> Self:
        """Embed the whole graph; which nodes X has makes no difference."""
        if self.graph is None:
            raise InputError("NodeEmbedding: there is no graph. Give it as NodeEmbedding(graph, …).")
        model = clone(self.estimator) if self.estimator is not None else FedWalk()
        if self.estimator is not None:
            # `clone` deep-copies the parameters; progress must go to the caller's own object, not to a copy of it.
            model.on_progress = self.estimator.on_progress
        self.embedding_ = _kept_or_made(model, load_graph(self.graph))
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """The vectors of these nodes, in their order: a list, an array, a Series, or a single column of a frame."""
        return self._fitted()[_nodes(X)]

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """A name for each dimension, for `set_output` and for `ColumnTransformer`."""
        return np.array([f"embedding{i}" for i in range(self._fitted().dim)], dtype=object)

    def _fitted(self) -> Embedding:
        if not hasattr(self, "embedding_"):
            raise NotFittedError("NodeEmbedding isn't fitted yet: call fit() first.")
        return self.embedding_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "embedding_")


def _kept_or_made(model: FedWalk | DeepWalk, graph: Graph) -> Embedding:
    """The embedding of this graph with these settings: one of the last few, or a new one. It can't be written to."""
    key = (graph.fingerprint(), graph.objects, model.settings)
    if key in _kept:
        _kept.move_to_end(key)
        return _kept[key]
    _kept[key] = model.fit_transform(graph)
    _kept[key].vectors.flags.writeable = False
    while len(_kept) > KEPT:
        _kept.popitem(last=False)
    return _kept[key]


def _nodes(X: Any) -> list[Any]:
    """The nodes in X, which may have one column."""
    if hasattr(X, "columns"):
        X = X.to_numpy()
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.shape[1] == 1:
        X = X[:, 0]
    if isinstance(X, np.ndarray) and X.ndim != 1:
        raise InputError(f"NodeEmbedding: X must be one column of nodes, got the shape {X.shape}.")
    return X.tolist() if hasattr(X, "tolist") else list(X)
