"""Small simulated federations for the tests: graphs, and every stage's value on them."""

from dataclasses import dataclass

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from fedwalk.graph import Graph, load_graph, social_network
from fedwalk.privacy.randomness import SimulatedRandomness
from fedwalk.protocols.paper.degree_vectors import DegreeMatrices
from fedwalk.protocols.paper.local import LocalRuntime
from fedwalk.protocols.paper.messages import GroupPlan
from fedwalk.protocols.paper.server import Server
from fedwalk.protocols.paper.tree import Tree
from fedwalk.protocols.transcript import Transcript
from fedwalk.settings import Settings
from fedwalk.util.parallel import silent

GRAPHS: dict[str, Graph] = {
    "communities": social_network(vertices=60, mean_degree=8, communities=3, seed=2),
    "karate": load_graph(np.array(nx.karate_club_graph().edges())),
    "star": load_graph(np.array([[0, i] for i in range(1, 12)])),
    "path": load_graph(np.array([[i, i + 1] for i in range(9)])),
    "pair": load_graph(np.array([[0, 1]])),
}


@dataclass(frozen=True)
class Federation:
    """A graph and the stages up to the tree."""

    graph: Graph
    settings: Settings
    server: Server
    plan: GroupPlan
    vectors: NDArray[np.float32]
    matrices: DegreeMatrices
    tree: Tree


def federation(graph: Graph, **values: object) -> Federation:
    """Run the local runtime up to the tree."""
    settings = Settings.from_mapping({"threads": 1, **values}).resolve(graph.vertices)
    assert settings.num_bins is not None
    server = Server(graph.vertices, settings.num_bins, settings.epsilon)
    runtime = LocalRuntime(graph, server, settings, Transcript())
    plan = server.group_plan(SimulatedRandomness(settings.seed))
    vectors = runtime.vectors(plan, silent)
    matrices = runtime.matrices(vectors, silent)
    tree = server.build_tree(matrices, settings.tree, settings.seed)
    return Federation(graph, settings, server, plan, vectors, matrices, tree)


def random_linkage(n: int, seed: int) -> NDArray[np.float64]:
    """A binary tree joined in random order, heights ascending."""
    rng = np.random.default_rng(seed)
    roots, sizes, rows = list(range(n)), dict.fromkeys(range(n), 1), []
    for i in range(n - 1):
        a, b = sorted(roots.pop(rng.integers(len(roots))) for _ in range(2))
        sizes[n + i] = sizes[a] + sizes[b]
        rows.append([a, b, float(i), sizes[n + i]])
        roots.append(n + i)
    return np.array(rows, np.float64).reshape(-1, 4)
