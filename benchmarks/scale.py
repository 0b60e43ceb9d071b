"""How time and memory grow with the graph: generated social networks of Flickr's density and size, and larger.

    python benchmarks/scale.py flickr                 80,513 vertices, 5.9 M edges, the paper's full settings
    python benchmarks/scale.py private                the same graph in protocol ldp, epsilon = 8
    python benchmarks/scale.py million                a million vertices of mean degree 10, 10 walks each
    python benchmarks/scale.py growth [--sizes 10000,20000,40000,80000,160000] [--num-walks 10]

Every run is a separate process, so that peak memory is measured per run. `growth` runs each size twice and takes each
stage's faster time, so that compiling doesn't count, and fits an exponent to the seconds.
"""

import argparse
import json
import subprocess
import sys
from typing import Any

import numpy as np
from common import publish, table

STAGES = ("matrices", "tree", "encoder", "walks", "skipgram")

RUN = """
import json, sys, time
import fedwalk
from fedwalk.run.stages import peak_rss_bytes
vertices, degree, communities = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
settings = json.loads(sys.argv[4])
began = time.perf_counter()
graph = fedwalk.social_network(vertices=vertices, mean_degree=degree, communities=communities, seed=0)
made = time.perf_counter() - began
show = lambda stage, done, total: (done, total) == (1, 1) and print(f"  {stage}", file=sys.stderr, flush=True)
model = fedwalk.FedWalk(on_progress=show, **settings)
model.fit(graph)
walks, traffic = model.run_.walks, model.transcript_.traffic
print(json.dumps({"vertices": graph.vertices, "edges": graph.edges, "labels": graph.labels.count, "generate": made,
                  "seconds": model.seconds_, "total": time.perf_counter() - began - made, "peak": peak_rss_bytes(),
                  "threads": model.settings_.threads, "hops": walks.hops_per_walk, "entries": walks.sequences.size,
                  "reports": sum(entry.bytes for phase, entry in traffic.items() if phase == "reports")}))
"""


def run(vertices: int, degree: float, communities: int, **settings: Any) -> dict[str, Any]:
    """Generate a network and run fedwalk on it, in a separate process."""
    print(f"{vertices:,} vertices, mean degree {degree:g}, {settings}", file=sys.stderr, flush=True)
    command = [sys.executable, "-c", RUN, str(vertices), str(degree), str(communities), json.dumps(settings)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    record: dict[str, Any] = json.loads(done.stdout)
    return record


def describe(record: dict[str, Any], title: str) -> str:
    """A paragraph about a run and a table of its stages."""
    rows = [[stage, f"{seconds:.1f} s"] for stage, seconds in record["seconds"].items()]
    rows.append(["in all", f"{record['total']:.0f} s"])
    sent = f"{record['reports'] / record['vertices']:,.0f} bytes from each device"
    walked = f"{record['entries']:,} entries, {record['hops']:.3f} hops per walk" if record["entries"] else sent
    return (
        f"{title}: {record['vertices']:,} vertices, {record['edges']:,} edges, {record['labels']} labels, {walked}, "
        f"{record['threads']} threads. Peak memory {record['peak'] / 1e9:.1f} GB.\n\n{table(['stage', 'time'], rows)}"
    )


def growth(sizes: list[int], walks: int) -> str:
    """A table of the seconds per stage for each size, and the exponents of a fitted power law."""
    runs = [[run(size, 40.0, 60, num_walks=walks) for _ in range(2)] for size in sizes]
    seconds = np.array([[min(r["seconds"][stage] for r in twice) for stage in STAGES] for twice in runs])
    exponents = [np.polyfit(np.log(sizes), np.log(column), 1)[0] for column in seconds.T]
    rows = [
        [f"{size:,}", *(f"{s:.2f} s" for s in row), f"{max(r['peak'] for r in twice) / 1e9:.1f} GB"]
        for size, row, twice in zip(sizes, seconds, runs, strict=True)
    ]
    rows.append(["exponent", *(f"{e:.2f}" for e in exponents), ""])
    return f"Mean degree 40, {walks} walks per vertex.\n\n{table(['vertices', *STAGES, 'peak memory'], rows)}"


def main() -> None:
    """Measure and publish."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("flickr", "private", "million", "growth"))
    parser.add_argument("--sizes", default="10000,20000,40000,80000,160000")
    parser.add_argument("--num-walks", type=int, default=10)
    options = parser.parse_args()
    command = f"python benchmarks/scale.py {options.what}"
    if options.what in ("flickr", "private"):
        settings = {"protocol": "ldp", "epsilon": 8.0} if options.what == "private" else {"num_walks": 80}
        record = run(80_513, 2 * 5_899_882 / 80_513, 195, **settings)
        publish(options.what, describe(record, "Flickr-like, generated"), command)
    elif options.what == "million":
        publish("million", describe(run(1_000_000, 10.0, 500, num_walks=10), "Generated"), command)
    else:
        sizes = [int(size) for size in options.sizes.split(",")]
        publish(
            "growth",
            growth(sizes, options.num_walks),
            f"{command} --sizes {options.sizes} --num-walks {options.num_walks}",
        )


if __name__ == "__main__":
    main()
