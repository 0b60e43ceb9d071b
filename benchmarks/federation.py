"""The cost of a federation: processes on this machine, compared with a simulation of the same walks in one process.

    python benchmarks/federation.py --graph blogcatalog.mat [--num-walks 10] [--holders 4]

Starts a server and holders as processes with TLS between all of them, runs protocol `paper` from the roll call to the
vectors, checks that walks, messages and bytes equal those of the simulation with the same seed, and writes the result
into docs/federation.md.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from common import PAGE, publish, table

from fedwalk import FedWalk, load_graph, social_network
from fedwalk.federation.deploy.follow_run import run
from fedwalk.federation.deploy.local_federation import make_federation
from fedwalk.settings import Settings

SEED = 0


def show(stage: str, done: int, total: int) -> None:
    """Print a line for each finished stage."""
    if (done, total) == (1, 1):
        print(f"  {stage}", file=sys.stderr, flush=True)


def federated(graph: Any, holders: int, walks: int, folder: Path) -> tuple[dict[str, Any], np.ndarray, float]:
    """The run's record, its walks, and its seconds without those for starting and stopping the processes."""
    federation = make_federation(folder, graph, holders, seed=SEED)
    with federation.up():
        began = time.perf_counter()
        settings = Settings(num_walks=walks, seed=SEED)
        record = run(federation.server, settings, folder / "run", patience=120, keep_walks=True, on_progress=show)
        seconds = time.perf_counter() - began
    return record.as_dict(), np.load(folder / "run" / "walks.npy"), seconds


def comparison_table(record: dict[str, Any], model: FedWalk, same: bool, seconds: float) -> str:
    """The comparison as a table."""
    here, there = record["messages"], model.transcript_.as_dict()
    federation, hops = record["federation"], here["hops"]["count"]
    wire, finished = federation["wire"], federation["walks"]["finished"]
    equal = "equal" if same and here == there else "NOT EQUAL"
    rows = [
        ["walks", f"{finished:,}", equal],
        ["hops", f"{hops:,}", f"{there['hops']['count']:,}"],
        ["bytes of all messages, as counted", f"{total(here):,}", f"{total(there):,}"],
        ["seconds of the walk phase, holders' clock", f"{wire['seconds']:.1f}", f"{model.seconds_['walks']:.1f}"],
        ["hops per second", f"{hops / wire['seconds']:,.0f}", f"{hops / model.seconds_['walks']:,.0f}"],
        ["batches between holders", f"{wire['batches']:,}", "–"],
        ["bytes per walk between holders, on the wire", f"{wire['bytes'] / finished:,.0f}", "–"],
        ["bytes per walk, all hops, as counted", *(f"{m['hops']['bytes'] / finished:,.0f}" for m in (here, there))],
        ["seconds, from the roll call to the vectors", f"{seconds:.0f}", f"{sum(model.seconds_.values()):.0f}"],
    ]  # fmt: skip
    return table(["", f"{len(federation['holders'])} holders", "`local`"], rows)


def total(messages: dict[str, Any]) -> int:
    """Bytes of all phases."""
    return sum(int(phase["bytes"]) for phase in messages.values())


def main() -> None:
    """Measure and publish."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graph", type=Path, help="a graph file (default: a generated network of 2,000 vertices)")
    parser.add_argument("--num-walks", type=int, default=10)
    parser.add_argument("--holders", type=int, default=4)
    options = parser.parse_args()
    graph = load_graph(options.graph) if options.graph else social_network(vertices=2000, seed=0)
    with tempfile.TemporaryDirectory() as folder:
        record, walks, seconds = federated(graph, options.holders, options.num_walks, Path(folder, "federation"))
    model = FedWalk(num_walks=options.num_walks, seed=SEED)
    model.fit(graph)
    same = np.array_equal(walks, model.walks_.sequences)
    name = options.graph.name if options.graph else "generated network"
    title = f"{name}: {graph.vertices:,} vertices, {graph.edges:,} edges, {options.num_walks} walks per vertex."
    page = PAGE.with_name("federation.md")
    publish("federation", f"{title}\n\n{comparison_table(record, model, same, seconds)}", command(options), page)


def command(options: argparse.Namespace) -> str:
    """The command that repeats this measurement."""
    file = f" --graph {options.graph.name}" if options.graph else ""
    return f"python benchmarks/federation.py{file} --num-walks {options.num_walks} --holders {options.holders}"


if __name__ == "__main__":
    main()
