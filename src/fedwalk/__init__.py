"""fedwalk: node embeddings of a graph that no single party holds.

Each public name is imported when it is first used, so that `import fedwalk` stays fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fedwalk._version import __version__

if TYPE_CHECKING:
    from fedwalk.embedding import Embedding
    from fedwalk.errors import FedWalkError, FedWalkWarning
    from fedwalk.estimators import DeepWalk, FedWalk, NodeEmbedding
    from fedwalk.evaluation import evaluate
    from fedwalk.graph import Graph, Labels, load_graph, load_labels, social_network
    from fedwalk.protocols.paper.walks import expected_hops
    from fedwalk.settings import Settings

_HOME = {  # the module that defines each public name
    "Embedding": "embedding",
    "FedWalkError": "errors",
    "FedWalkWarning": "errors",
    "evaluate": "evaluation",
    "Graph": "graph",
    "Labels": "graph",
    "load_graph": "graph",
    "load_labels": "graph",
    "social_network": "graph",
    "DeepWalk": "estimators",
    "FedWalk": "estimators",
    "NodeEmbedding": "estimators",
    "expected_hops": "protocols.paper.walks",
    "Settings": "settings",
}

__all__ = [
    "DeepWalk",
    "Embedding",
    "FedWalk",
    "FedWalkError",
    "FedWalkWarning",
    "Graph",
    "Labels",
    "NodeEmbedding",
    "Settings",
    "__version__",
    "evaluate",
    "expected_hops",
    "load_graph",
    "load_labels",
    "social_network",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'fedwalk' has no attribute {name!r}")
    return getattr(import_module(f"fedwalk.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
