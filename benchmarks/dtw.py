"""Time of DTW per cell of the cost matrix: fedwalk and dtaidistance, on the degree matrices of a graph.

    python benchmarks/dtw.py --graph blogcatalog.mat [--num-bins 9] [--queries 12] [--sample 300] [--repeats 5]

Both compare the same vertices' ordered degree matrices on one thread: fedwalk with those of all vertices, dtaidistance,
which is slower, with a sample. fedwalk's local cost is L1; dtaidistance has no L1 and is timed with its squared
Euclidean cost. Needs the extra `bench`.
"""

import argparse
from pathlib import Path

import numpy as np
from common import by_turns, publish, ratio, table

from fedwalk.graph import load_graph, social_network
from fedwalk.privacy.randomness import SimulatedRandomness
from fedwalk.protocols.paper.degree_vectors import DegreeMatrices
from fedwalk.protocols.paper.dissimilarity import cross_dissimilarity
from fedwalk.protocols.paper.local import LocalRuntime
from fedwalk.protocols.paper.server import Server
from fedwalk.protocols.transcript import Transcript
from fedwalk.settings import Settings
from fedwalk.util.parallel import silent


def degree_matrices(path: str | None, bins: int | None) -> DegreeMatrices:
    """The degree matrices that the server receives in a run with this graph."""
    graph = load_graph(path) if path else social_network(vertices=10_000, mean_degree=60, communities=40)
    settings = Settings(num_bins=bins).resolve(graph.vertices)
    server = Server(graph.vertices, settings.num_bins or 1, settings.epsilon)
    runtime = LocalRuntime(graph, server, settings, Transcript())
    return runtime.matrices(runtime.vectors(server.group_plan(SimulatedRandomness(0)), silent), silent)


def main() -> None:
    """Measure and publish."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graph", help="graph file (default: a generated network of 10,000 vertices)")
    parser.add_argument("--num-bins", type=int, help="k (default ⌊ln n⌋)")
    parser.add_argument("--queries", type=int, default=12, help="vertices whose distances to all others are computed")
    parser.add_argument("--sample", type=int, default=300, help="vertices to which dtaidistance computes the distances")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    from dtaidistance import dtw_ndim  # after the arguments, so that --help works without it

    matrices = degree_matrices(options.graph, options.num_bins)
    rng = np.random.default_rng(0)
    queries = rng.choice(len(matrices), options.queries, replace=False)
    sample = rng.choice(len(matrices), options.sample, replace=False)
    series = [matrices[int(v)].astype(np.float64) for v in range(len(matrices))]
    all_vertices = np.arange(len(matrices))

    def ours() -> object:
        return cross_dissimilarity(matrices, queries, all_vertices)

    def other() -> object:
        return [dtw_ndim.distance_fast(series[q], series[v]) for q in queries for v in sample]

    ours()  # compiles
    seconds = by_turns({"fedwalk": ours, "dtaidistance": other}, options.repeats)
    rows_of = matrices.lengths
    cells = {
        "fedwalk": int(rows_of[queries].sum()) * int(rows_of.sum()),
        "dtaidistance": int(rows_of[queries].sum()) * int(rows_of[sample].sum()),
    }
    per_cell = {name: [1e9 * t / cells[name] for t in times] for name, times in seconds.items()}
    rows = [
        [name, f"{sorted(times)[len(times) // 2]:.2f} ns", f"{ratio(per_cell, 'dtaidistance', name):.1f}×"]
        for name, times in per_cell.items()
    ]
    text = table(["DTW", "per cell, one thread", "speed over dtaidistance"], rows)
    graph = f" --graph {Path(options.graph).name}" if options.graph else ""
    bins = f" --num-bins {options.num_bins}" if options.num_bins else ""
    publish(
        f"dtw-{matrices.rows.shape[1]}",
        f"k = {matrices.rows.shape[1]}, {options.queries} vertices against all {len(matrices):,} "
        f"({cells['fedwalk'] / 1e6:.0f} M cells), median of {options.repeats} rounds.\n\n{text}",
        f"python benchmarks/dtw.py{graph}{bins}",
    )


if __name__ == "__main__":
    main()
