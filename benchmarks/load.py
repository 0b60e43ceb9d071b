"""Loading a large graph from CSV and Parquet, compared with libraries that read the same file.

    python benchmarks/load.py [--edges 6000000] [--vertices 1000000] [--repeats 3]

The graph is generated: random pairs of integers under the header `source,target`. Each contender is a separate process,
timed from start to end with its imports; its peak memory is what the operating system reports. pandas only reads the
table, networkx and igraph build a graph from it, as fedwalk does. Needs the extras `formats` and `test`.
"""

import argparse
import sys
import tempfile
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
from common import by_turns, publish, ratio, table
from pipeline import run

CONTENDERS = {
    "fedwalk, CSV": "import fedwalk; fedwalk.load_graph('{csv}')",
    "fedwalk, Parquet": "import fedwalk; fedwalk.load_graph('{parquet}')",
    "pandas, CSV, the table alone": "import pandas; pandas.read_csv('{csv}')",
    "igraph, from pandas' table": "import igraph, pandas; frame = pandas.read_csv('{csv}'); "
    "igraph.Graph.DataFrame(frame, directed=False, use_vids=False)",
    "networkx, from pandas' table": "import networkx, pandas; networkx.from_pandas_edgelist(pandas.read_csv('{csv}'))",
}
OURS = "fedwalk, CSV"


def write_files(folder: Path, edges: int, vertices: int) -> dict[str, Path]:
    """Write the same random edges as CSV and as Parquet."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    pairs = np.random.default_rng(0).integers(0, vertices, (edges, 2))
    content = pa.table({"source": pairs[:, 0], "target": pairs[:, 1]})
    files = {"csv": folder / "graph.csv", "parquet": folder / "graph.parquet"}
    csv.write_csv(content, files["csv"])
    parquet.write_table(content, files["parquet"])
    return files


def describe(seconds: dict[str, list[float]], peaks: dict[str, list[int]]) -> str:
    """The table of results."""
    rows = [
        [
            name,
            f"{median(times):.1f} s",
            f"{ratio(seconds, name, OURS):.1f}×",
            f"{max(peaks[name]) / 1e9:.2f} GB",
        ]
        for name, times in seconds.items()
    ]
    return table(["from file to graph", "time", f"time over {OURS}", "peak memory"], rows)


def main() -> None:
    """Measure and publish."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edges", type=int, default=6_000_000)
    parser.add_argument("--vertices", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = write_files(Path(folder), options.edges, options.vertices)
        sizes = ", ".join(f"{path.stat().st_size / 1e6:.0f} MB as {name}" for name, path in files.items())
        commands = {name: [sys.executable, "-c", code.format(**files)] for name, code in CONTENDERS.items()}
        peaks: dict[str, list[int]] = {name: [] for name in commands}
        seconds = by_turns({name: partial(run, command, 2, peaks[name]) for name, command in commands.items()},
                           options.repeats)  # fmt: skip
    publish(
        "load",
        f"{options.vertices:,} vertices, {options.edges:,} random edges, {sizes}, median of {options.repeats} rounds."
        f"\n\n{describe(seconds, peaks)}",
        f"python benchmarks/load.py --edges {options.edges} --vertices {options.vertices} --repeats {options.repeats}",
    )


if __name__ == "__main__":
    main()
