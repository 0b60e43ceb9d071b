"""Walks per second: fedwalk with encoder and predictor, fedwalk's plain walks, PecanPy and GRAPE.

    python benchmarks/walks.py --graph blogcatalog.mat [--num-walks 20] [--threads 1] [--repeats 5]

All of them make the same number of walks of 40 entries from every vertex. PecanPy's kernel is timed without the
conversion to lists of strings that its own interface adds. Needs the extra `bench`.
"""

import argparse
import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from common import by_turns, publish, ratio, table

LENGTH = 40


def fedwalk_contenders(path: str | None, walks: int, threads: int) -> tuple[dict[str, Callable[[], object]], int]:
    """fedwalk's walks as a run makes them, and the number of vertices."""
    from fedwalk.estimators import FedWalk
    from fedwalk.graph import load_graph, social_network
    from fedwalk.protocols.deepwalk.protocol import walk as plain
    from fedwalk.protocols.paper.local import LocalRuntime
    from fedwalk.protocols.paper.messages import GroupPlan, TreeTable
    from fedwalk.protocols.paper.server import Server
    from fedwalk.protocols.transcript import Transcript
    from fedwalk.settings import Settings
    from fedwalk.util.parallel import silent

    graph = load_graph(path) if path else social_network(vertices=10_000, mean_degree=60, communities=40)
    contenders: dict[str, Callable[[], object]] = {}
    fitted = FedWalk(num_walks=1, dim=1, window=1, negative=1)
    fitted.fit(graph)
    server = Server(graph.vertices, fitted.settings_.num_bins or 1, 2.0)
    plan = GroupPlan(fitted.bins_, server.k, 2.0)
    for name, change in {
        "fedwalk, tree, p = 0.2": {},
        "fedwalk, triad, p = 1, burst 2": {"predictor": "triad", "predict": 1.0},
    }.items():
        settings = Settings.from_mapping({"num_walks": walks, "threads": threads, **change}).resolve(graph.vertices)
        runtime = LocalRuntime(graph, server, settings, Transcript())
        table_ = TreeTable(fitted.tree_, fitted.encoder_, settings.predictor, settings.burst)
        contenders[name] = partial(runtime.walks, plan, fitted.degree_vectors_, table_, silent)
    settings = Settings(protocol="deepwalk", num_walks=walks, threads=threads).resolve(graph.vertices)
    contenders["fedwalk, plain"] = partial(plain, graph, settings, silent)
    write_edges(graph.indptr, graph.indices)
    return contenders, graph.vertices


EDGES = Path(tempfile.gettempdir()) / f"fedwalk-bench-{os.getpid()}.edg"


def write_edges(indptr: np.ndarray, indices: np.ndarray) -> None:
    """Write the graph as the edge list that PecanPy and GRAPE read."""
    owner = np.repeat(np.arange(indptr.size - 1), np.diff(indptr))
    np.savetxt(EDGES, np.column_stack([owner, indices])[owner < indices], fmt="%d\t%d")


def pecanpy_contender(walks: int) -> Callable[[], object]:
    """PecanPy's first-order kernel, as its `simulate_walks` calls it."""
    from numba_progress import ProgressBar
    from pecanpy.pecanpy import FirstOrderUnweighted

    other = FirstOrderUnweighted(p=1, q=1, workers=1, random_state=0)
    other.read_edg(str(EDGES), weighted=False, directed=False)
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
    contenders, vertices = fedwalk_contenders(options.graph, options.num_walks, options.threads)
    contenders["PecanPy, first order, kernel only"] = pecanpy_contender(options.num_walks)
    contenders["GRAPE, complete walks"] = grape_contender(options.num_walks)
    for job in contenders.values():
        job()
    seconds = by_turns(contenders, options.repeats)
    EDGES.unlink()
    steps = vertices * options.num_walks * LENGTH
    rows = [
        [
            name,
            f"{steps / sorted(times)[len(times) // 2] / 1e6:.0f} M",
            f"{ratio(seconds, 'PecanPy, first order, kernel only', name):.1f}×",
            f"{ratio(seconds, 'GRAPE, complete walks', name):.1f}×",
        ]
        for name, times in seconds.items()
    ]
    text = table(["walks", "entries per second", "speed over PecanPy", "over GRAPE"], rows)
    name = Path(options.graph).name if options.graph else None
    graph = f" --graph {name}" if name else ""
    publish(
        "walks",
        f"{vertices:,} vertices, {steps / 1e6:.0f} M entries, {options.threads} thread(s), "
        f"median of {options.repeats} rounds.\n\n{text}",
        f"python benchmarks/walks.py{graph} --num-walks {options.num_walks} --threads {options.threads}",
    )


if __name__ == "__main__":
    main()
