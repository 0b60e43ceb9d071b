"""What the hybrid tree costs in quality: beside the exact average-linkage tree over all n(n−1)/2 dissimilarities.

    python benchmarks/tree.py --graph blogcatalog.mat [--walks 80] [--seeds 3] [--splits 5]

For each seed one set of degree vectors and both trees: how well each tree's heights agree with the dissimilarities
(cophenetic correlation, over all pairs), how many vertices of a two-hop pool are true neighbours, and micro-F1 of the
vectors in the end. Holds n(n−1)/2 numbers several times over: meant for graphs of a few thousand vertices.
"""

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from common import publish, table
from numpy.typing import NDArray
from scipy.cluster.hierarchy import cophenet

from fedwalk import FedWalk, evaluate, load_graph, social_network
from fedwalk.experiments.fidelity import pool_precision
from fedwalk.graph import Graph
from fedwalk.kernels.threads import silent
from fedwalk.protocol.clustering import BUILDERS
from fedwalk.protocol.dissimilarity import pairwise_dissimilarity
from fedwalk.protocol.server import Server
from fedwalk.protocol.transcript import Transcript
from fedwalk.runtime.local import LocalRuntime


@dataclass(frozen=True)
class Quality:
    """What one run with one tree reached."""

    seconds: float
    cophenetic: float
    precision: float
    chance: float
    f1: tuple[float, ...]


def dissimilarities(graph: Graph, model: FedWalk) -> NDArray[np.float64]:
    """All pairs' dissimilarities of a fitted model, in scipy's condensed order."""
    settings = model.settings_
    server = Server(graph.vertices, settings.bins or 1, settings.epsilon)
    matrices = LocalRuntime(graph, server, settings, Transcript()).matrices(model.degree_vectors_, silent)
    return pairwise_dissimilarity(matrices, np.arange(graph.vertices), settings.threads or 1).astype(np.float64)


def measure(graph: Graph, seed: int, ratios: list[float], options: argparse.Namespace) -> dict[str, Quality]:
    """Both trees over the same degree vectors."""
    models: dict[str, FedWalk] = {}
    scores: dict[str, tuple[float, ...]] = {}
    shared: dict[str, Any] = {}
    for builder in BUILDERS:
        began = time.perf_counter()
        model = FedWalk(tree=builder, walks=options.walks, seed=seed)
        embedding = model.fit(graph, **shared)
        shared = {"bins": model.bins_, "degree_vectors": model.degree_vectors_}
        if graph.labels is not None:
            found = evaluate(embedding, graph, train_ratios=ratios, splits=options.splits)
            scores[builder] = tuple(score.micro_f1 for score in found)
        models[builder] = model
        took = time.perf_counter() - began
        print(f"  seed {seed}, {builder}: {took:.0f} s, {scores.get(builder)}", file=sys.stderr)
    truth = dissimilarities(graph, models["average"])
    return {
        builder: Quality(
            model.seconds_["tree"],
            float(cophenet(model.tree_.linkage, truth)[0]),
            *pool_precision(graph, model),
            scores.get(builder, ()),
        )
        for builder, model in models.items()
    }


def spread(values: list[float], digits: int) -> str:
    """Mean and standard deviation over the seeds."""
    return f"{np.mean(values):.{digits}f} ± {np.std(values):.{digits}f}"


def main() -> None:
    """Measure and publish."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graph", help="graph file (default: a generated network of 4,000 vertices)")
    parser.add_argument("--walks", type=int, default=80, help="walks per vertex")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--splits", type=int, default=5)
    options = parser.parse_args()
    graph = load_graph(options.graph) if options.graph else social_network(vertices=4000, mean_degree=40)
    graph, _ = graph.active()
    ratios = [0.1, 0.6]
    runs = [measure(graph, seed, ratios, options) for seed in range(options.seeds)]
    rows = []
    for builder in BUILDERS:
        found = [run[builder] for run in runs]
        f1 = [spread([quality.f1[i] for quality in found], 4) for i in range(len(found[0].f1))]
        rows.append(
            [
                builder,
                f"{np.mean([quality.seconds for quality in found]):.1f} s",
                spread([quality.cophenetic for quality in found], 3),
                spread([100 * quality.precision for quality in found], 2) + " %",
                *(f1 or ["–"] * len(ratios)),
            ]
        )
    chance = np.mean([run[builder].chance for run in runs for builder in BUILDERS])
    header = ["tree", "time", "cophenetic correlation", "precision of the pools"]
    text = table([*header, *(f"micro-F1 at {ratio}" for ratio in ratios)], rows)
    name = f" --graph {Path(options.graph).name}" if options.graph else ""
    publish(
        "tree",
        f"{graph.vertices:,} vertices, {options.walks} walks each, {options.seeds} seeds (mean ± standard deviation). "
        f"A pool drawn at random would have a precision of {chance:.2%}.\n\n{text}",
        f"python benchmarks/tree.py{name} --walks {options.walks} --seeds {options.seeds} --splits {options.splits}",
    )


if __name__ == "__main__":
    main()
