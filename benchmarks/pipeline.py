"""From a graph file to vectors: `fedwalk embed` compared with DeepWalk built from PecanPy's walks and gensim's
Word2Vec.

    python benchmarks/pipeline.py --graph blogcatalog.mat [--num-walks 80] [--threads 2] [--repeats 3]

Each contender is a separate process, timed from start to end; its peak memory is what the operating system reports. All
use walks of 40 entries, window 10, 128 dimensions, 5 negative samples and one pass. FedWalk in addition builds its
tree, encodes and predicts. Needs the extra `bench`.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from common import by_turns, publish, ratio, table

OTHER = """
import sys
edges, walks, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
from gensim.models import Word2Vec
from pecanpy.pecanpy import FirstOrderUnweighted
graph = FirstOrderUnweighted(p=1, q=1, workers=threads, random_state=0)
graph.read_edg(edges, weighted=False, directed=False)
sentences = graph.simulate_walks(walks, 39)
Word2Vec(sentences, vector_size=128, window=10, negative=5, sg=1, sample=0, min_count=0, workers=threads, epochs=1)
"""


def run(command: list[str], threads: int, peaks: list[int]) -> None:
    """Run a process to its end and append its peak memory to `peaks`."""
    environment = {**os.environ, "NUMBA_NUM_THREADS": str(threads)}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{command[:3]} failed")
    # ru_maxrss is in bytes on macOS and in kilobytes on Linux.
    peaks.append(usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024))


def write_edges(path: str | None, edges: Path) -> tuple[int, int]:
    """Write the graph as an edge list that both can read; returns the numbers of vertices and edges."""
    from fedwalk.graph import load_graph, social_network
    from fedwalk.graph.save import save_edge_list

    graph = load_graph(path) if path else social_network(vertices=10_000, mean_degree=60, communities=40)
    save_edge_list(graph, edges)
    edges.write_text(edges.read_text(encoding="utf-8").replace(" ", "\t"), encoding="utf-8")
    return graph.vertices, graph.edges


def main() -> None:
    """Measure and publish."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graph", help="graph file (default: a generated network of 10,000 vertices)")
    parser.add_argument("--num-walks", type=int, default=80, help="walks per vertex")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        edges = Path(folder) / "graph.tsv"
        vertices, count = write_edges(options.graph, edges)
        shared = ["--num-walks", str(options.num_walks), "--threads", str(options.threads), "--force"]
        embed = [sys.executable, "-m", "fedwalk", "embed", str(edges), "-o", f"{folder}/run", *shared]
        other = [sys.executable, "-c", OTHER, str(edges), str(options.num_walks), str(options.threads)]
        commands = {
            "fedwalk embed": embed,
            "fedwalk embed --protocol deepwalk": [*embed, "--protocol", "deepwalk"],
            "PecanPy and gensim": other,
        }
        peaks: dict[str, list[int]] = {name: [] for name in commands}
        jobs = {name: partial(run, command, options.threads, peaks[name]) for name, command in commands.items()}
        seconds = by_turns(jobs, options.repeats)
    rows = [
        [
            name,
            f"{sorted(times)[len(times) // 2]:.0f} s",
            f"{ratio(seconds, 'PecanPy and gensim', name):.1f}×",
            f"{max(peaks[name]) / 1e9:.2f} GB",
        ]
        for name, times in seconds.items()
    ]
    text = table(["from file to vectors", "time", "speed over PecanPy and gensim", "peak memory"], rows)
    graph = f" --graph {Path(options.graph).name}" if options.graph else ""
    publish(
        "pipeline",
        f"{vertices:,} vertices, {count:,} edges, {vertices * options.num_walks * 40 / 1e6:.0f} M entries, "
        f"{options.threads} threads, median of {options.repeats} rounds.\n\n{text}",
        f"python benchmarks/pipeline.py{graph} --num-walks {options.num_walks} --threads {options.threads}",
    )


if __name__ == "__main__":
    main()
