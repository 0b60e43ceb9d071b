"""Walks per second: fedwalk with encoder and predictor, fedwalk's plain walks, PecanPy and GRAPE.

    python benchmarks/walks.py --graph blogcatalog.mat [--num-walks 20] [--threads 1] [--repeats 5]

All of them make the same number of walks of 40 entries from every vertex. PecanPy's kernel is timed without the
conversion to lists of strings that its own interface adds. Contenders whose names end in "weighted" step in proportion
to the weights of the graph, or to random ones if it has none. They are compared with PecanPy's weighted kernel, whose
alias tables are made before the clock starts; fedwalk makes its own within the measured time. Needs the extra `bench`.
"""

import argparse
import os
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from common import by_turns, publish, ratio, table

if TYPE_CHECKING:
    from fedwalk.graph import Graph

LENGTH = 40
PECANPY, GRAPE = "PecanPy, first order, kernel only", "GRAPE, complete walks"


def fedwalk_contenders(graph: "Graph", walks: int, threads: int) -> dict[str, Callable[[], object]]:
    """fedwalk's walks as a run makes them, with weights and without."""
    from fedwalk.estimators import FedWalk
    from fedwalk.protocols.deepwalk.protocol import walk as plain
    from fedwalk.protocols.paper.local import LocalRuntime
    from fedwalk.protocols.paper.messages import GroupPlan, TreeTable
    from fedwalk.protocols.paper.server import Server
    from fedwalk.protocols.transcript import Transcript
    from fedwalk.settings import Settings
    from fedwalk.util.parallel import silent

    contenders: dict[str, Callable[[], object]] = {}
    fitted = FedWalk(num_walks=1, dim=1, window=1, negative=1)
    fitted.fit(graph)
    server = Server(graph.vertices, fitted.settings_.num_bins or 1, 2.0)
    plan = GroupPlan(fitted.bins_, server.k, 2.0)
    alone = Settings(protocol="deepwalk", num_walks=walks, threads=threads).resolve(graph.vertices)
    for ending, walked in {"": replace(graph, weights=None), WEIGHTED: graph}.items():
        for name, change in {
            "fedwalk, tree, p = 0.2": {},
            "fedwalk, triad, p = 1, burst 2": {"predictor": "triad", "predict": 1.0},
        }.items():
            settings = Settings.from_mapping({"num_walks": walks, "threads": threads, **change}).resolve(graph.vertices)
            runtime = LocalRuntime(walked, server, settings, Transcript())
            table_ = TreeTable(fitted.tree_, fitted.encoder_, settings.predictor, settings.burst)
            contenders[name + ending] = partial(runtime.walks, plan, fitted.degree_vectors_, table_, silent)
        contenders[f"fedwalk, plain{ending}"] = partial(plain, walked, alone, silent)
    return contenders


def weighted_graph(path: str | None) -> "Graph":
    """The graph of a file, or a generated one, with random weights if it has none."""
    from fedwalk.graph import load_graph, social_network
    from fedwalk.graph.build import from_edges
    from fedwalk.graph.graph import edge_pairs

    graph = load_graph(path) if path else social_network(vertices=10_000, mean_degree=60, communities=40)
    if graph.weights is not None:
        return graph
    source, target = edge_pairs(graph).T
    weights = np.random.default_rng(0).lognormal(size=source.size)
    return from_edges(source, target, graph.names, weights=weights)


WEIGHTED = ", weighted"
"""How the names of contenders end that step in proportion to weights."""
EDGES = Path(tempfile.gettempdir()) / f"fedwalk-bench-{os.getpid()}.edg"
WEIGHTED_EDGES = EDGES.with_suffix(".weighted.edg")


def write_edges(graph: "Graph") -> None:
    """Write the graph as the edge lists that PecanPy and GRAPE read, without weights and with them."""
    owner = np.repeat(np.arange(graph.vertices), graph.degrees)
    once = owner < graph.indices
    assert graph.weights is not None
    edges = np.column_stack([owner[once], graph.indices[once]])
    np.savetxt(EDGES, edges, fmt="%d\t%d")
    np.savetxt(WEIGHTED_EDGES, np.column_stack([edges, graph.weights[once]]), fmt="%d\t%d\t%.17g")


def pecanpy_contender(walks: int, weighted: bool) -> Callable[[], object]:
    """PecanPy's first-order kernel, as its `simulate_walks` calls it; its alias tables are made beforehand."""
    from numba_progress import ProgressBar
    from pecanpy.pecanpy import FirstOrderUnweighted, PreCompFirstOrder

    other = (PreCompFirstOrder if weighted else FirstOrderUnweighted)(p=1, q=1, workers=1, random_state=0)
    other.read_edg(str(WEIGHTED_EDGES if weighted else EDGES), weighted=weighted, directed=False)
    other.preprocess_transition_probs()
    starts = np.concatenate([np.arange(other.num_nodes, dtype=np.uint32)] * walks)
    move, has_neighbours = other.get_move_forward(), other.get_has_nbrs()

    def job() -> object:
        with ProgressBar(total=starts.size, disable=True) as progress:
            return other._random_walks(starts.size, LENGTH - 1, 0, starts, has_neighbours, move, progress)

    return job


def grape_contender(walks: int) -> Callable[[], object]:
    """GRAPE's complete walks."""
    from ensmallen import Graph

    other = Graph.from_csv(
        edge_path=str(EDGES), edge_list_header=False, edge_list_separator="\t", sources_column_number=0,
        destinations_column_number=1, directed=False, edge_list_numeric_node_ids=True, verbose=False, name="bench",
    )  # fmt: skip
    return partial(other.complete_walks, walk_length=LENGTH, iterations=walks, random_state=0)


def main() -> None:
    """Measure and publish."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graph", help="graph file (default: a generated network of 10,000 vertices)")
    parser.add_argument("--num-walks", type=int, default=20, help="walks per vertex")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    os.environ["NUMBA_NUM_THREADS"] = os.environ["RAYON_NUM_THREADS"] = str(options.threads)
    graph = weighted_graph(options.graph)
    write_edges(graph)
    contenders = fedwalk_contenders(graph, options.num_walks, options.threads)
    for weighted in (False, True):
        contenders[PECANPY + WEIGHTED * weighted] = pecanpy_contender(options.num_walks, weighted)
    contenders[GRAPE] = grape_contender(options.num_walks)
    for job in contenders.values():
        job()
    seconds = by_turns(contenders, options.repeats)
    EDGES.unlink()
    WEIGHTED_EDGES.unlink()
    steps = graph.vertices * options.num_walks * LENGTH
    rows = [
        [
            name,
            f"{steps / sorted(times)[len(times) // 2] / 1e6:.0f} M",
            f"{ratio(seconds, PECANPY + WEIGHTED * name.endswith(WEIGHTED), name):.1f}×",
            "–" if name.endswith(WEIGHTED) else f"{ratio(seconds, GRAPE, name):.1f}×",
        ]
        for name, times in seconds.items()
    ]
    text = table(["walks", "entries per second", "speed over PecanPy", "over GRAPE"], rows)
    name = Path(options.graph).name if options.graph else None
    flag = f" --graph {name}" if name else ""
    publish(
        "walks",
        f"{graph.vertices:,} vertices, {steps / 1e6:.0f} M entries, {options.threads} thread(s), "
        f"median of {options.repeats} rounds.\n\n{text}",
        f"python benchmarks/walks.py{flag} --num-walks {options.num_walks} --threads {options.threads}",
    )


if __name__ == "__main__":
    main()
