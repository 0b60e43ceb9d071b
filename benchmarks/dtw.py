"""DTW per cell: fedwalk's sixteen lanes beside dtaidistance, on the matrices of a graph's own degree distribution.

    python benchmarks/dtw.py --graph blogcatalog.mat [--bins 9] [--pairs 60000] [--repeats 5]

Both compute the same pairs of ordered degree matrices, one thread each. Ours is L1; dtaidistance has no L1 and is timed
on its squared Euclidean cost. Needs the extra `bench`.
"""

import argparse
from pathlib import Path

import numpy as np
from common import by_turns, publish, ratio, table

from fedwalk.graph import load_graph, social_network
from fedwalk.kernels.threads import silent
from fedwalk.protocol.degree import DegreeMatrices
from fedwalk.protocol.dissimilarity import cross_dissimilarity
from fedwalk.protocol.randomness import SimulatedRandomness
from fedwalk.protocol.server import Server
from fedwalk.protocol.transcript import Transcript
from fedwalk.runtime.local import LocalRuntime
from fedwalk.settings import Settings


def degree_matrices(path: str | None, bins: int | None) -> DegreeMatrices:
    """The matrices that the server of a run would receive."""
    graph = load_graph(path) if path else social_network(vertices=10_000, mean_degree=60, communities=40)
    settings = Settings(bins=bins).resolve(graph.vertices)
    server = Server(graph.vertices, settings.bins or 1, settings.epsilon)
    runtime = LocalRuntime(graph, server, settings, Transcript())
    return runtime.matrices(runtime.vectors(server.group_plan(SimulatedRandomness(0)), silent), silent)


def main() -> None:
    """Measure and publish."""
    from dtaidistance import dtw_ndim

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graph", help="graph file (default: a generated network of 10,000 vertices)")
    parser.add_argument("--bins", type=int, help="k (default ⌊ln n⌋)")
    parser.add_argument("--queries", type=int, default=12, help="vertices whose distances to all others are computed")
    parser.add_argument("--sample", type=int, default=300, help="vertices of those others that dtaidistance does")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    matrices = degree_matrices(options.graph, options.bins)
    rng = np.random.default_rng(0)
    queries = rng.choice(len(matrices), options.queries, replace=False)
    sample = rng.choice(len(matrices), options.sample, replace=False)
    series = [matrices[int(v)].astype(np.float64) for v in range(len(matrices))]
    everyone = np.arange(len(matrices))

    def ours() -> object:
        return cross_dissimilarity(matrices, queries, everyone)

    def peer() -> object:
        return [dtw_ndim.distance_fast(series[q], series[v]) for q in queries for v in sample]

    ours()
    seconds = by_turns({"fedwalk": ours, "dtaidistance": peer}, options.repeats)
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
    bins = f" --bins {options.bins}" if options.bins else ""
    publish(
        f"dtw-{matrices.rows.shape[1]}",
        f"k = {matrices.rows.shape[1]}, {options.queries} vertices against all {len(matrices):,} "
        f"({cells['fedwalk'] / 1e6:.0f} M cells), median of {options.repeats} rounds.\n\n{text}",
        f"python benchmarks/dtw.py{graph}{bins}",
    )


if __name__ == "__main__":
    main()
