"""The estimators, in scikit-learn's manner: `FedWalk` and `DeepWalk` embed a graph, `NodeEmbedding` looks nodes up.

`FedWalk().fit(graph).embedding_` has one vector per node. The parameters of an estimator are the `Settings` of a run,
each with its own keyword, and are checked when it is fitted; `get_params`, `set_params` and `clone` work as in
scikit-learn.
"""

from fedwalk.estimators.deepwalk import DeepWalk
from fedwalk.estimators.fedwalk import FedWalk
from fedwalk.estimators.node_embedding import NodeEmbedding

__all__ = ["DeepWalk", "FedWalk", "NodeEmbedding"]
