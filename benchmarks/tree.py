"""The quality of the hybrid tree, compared with the exact average-linkage tree over all n(n−1)/2 dissimilarities.

    python benchmarks/tree.py --graph blogcatalog.mat [--num-walks 80] [--seeds 3] [--splits 5]

For each seed, both trees are built from the same degree vectors. Measured are how well each tree's heights agree with
the dissimilarities (cophenetic correlation over all pairs), how many vertices of a two-hop pool are true neighbours,
and the micro-F1 of the final vectors. Needs memory for several times n(n−1)/2 numbers: use graphs of a few thousand
vertices.
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
from fedwalk.protocols.paper.dissimilarity import pairwise_dissimilarity
from fedwalk.protocols.paper.local import LocalRuntime
from fedwalk.protocols.paper.server import Server
from fedwalk.protocols.paper.tree_builders import BUILDERS
from fedwalk.protocols.transcript import Transcript
from fedwalk.util.parallel import silent


@dataclass(frozen=True)
class Quality:
    """The results of one run with one tree."""

    seconds: float
    cophenetic: float
    precision: float
    chance: float
    f1: tuple[float, ...]


def dissimilarities(graph: Graph, model: FedWalk) -> NDArray[np.float64]:
    """The dissimilarities of all pairs for a fitted model, in scipy's condensed order."""
    settings = model.settings_
    server = Server(graph.vertices, settings.num_bins or 1, settings.epsilon)
    matrices = LocalRuntime(graph, server, settings, Transcript()).matrices(model.degree_vectors_, silent)
    return pairwise_dissimilarity(matrices, np.arange(graph.vertices), settings.threads or 1).astype(np.float64)


def measure(graph: Graph, seed: int, ratios: list[float], options: argparse.Namespace) -> dict[str, Quality]:
    """Measure both trees over the same degree vectors."""
    models: dict[str, FedWalk] = {}
    scores: dict[str, tuple[float, ...]] = {}
    shared: dict[str, Any] = {}
    for builder in BUILDERS:
        began = time.perf_counter()
        model = FedWalk(tree=builder, num_walks=options.num_walks, seed=seed)
        embedding = model.fit(graph, **shared).embedding_
        shared = {"bins": model.bins_, "degree_vectors": model.degree_vectors_}
        if graph.labels is not None:
            results = evaluate(embedding, graph, train_ratios=ratios, splits=options.splits)
            scores[builder] = tuple(score.micro_f1 for score in results)
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
    parser.add_argument("--num-walks", type=int, default=80, help="walks per vertex")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--splits", type=int, default=5)
    options = parser.parse_args()
    graph = load_graph(options.graph) if options.graph else social_network(vertices=4000, mean_degree=40)
    graph, _ = graph.active()
    ratios = [0.1, 0.6]
    runs = [measure(graph, seed, ratios, options) for seed in range(options.seeds)]
    rows = []
    for builder in BUILDERS:
        qualities = [run[builder] for run in runs]
        f1 = [spread([quality.f1[i] for quality in qualities], 4) for i in range(len(qualities[0].f1))]
        rows.append(
            [
                builder,
                f"{np.mean([quality.seconds for quality in qualities]):.1f} s",
                spread([quality.cophenetic for quality in qualities], 3),
                spread([100 * quality.precision for quality in qualities], 2) + " %",
                *(f1 or ["–"] * len(ratios)),
            ]
        )
    chance = np.mean([run[builder].chance for run in runs for builder in BUILDERS])
    header = ["tree", "time", "cophenetic correlation", "precision of the pools"]
    text = table([*header, *(f"micro-F1 at {ratio}" for ratio in ratios)], rows)
    name = f" --graph {Path(options.graph).name}" if options.graph else ""
    publish(
        "tree",
        f"{graph.vertices:,} vertices, {options.num_walks} walks each, {options.seeds} seeds (mean ± standard "
        f"deviation). A pool drawn at random would have a precision of {chance:.2%}.\n\n{text}",
        f"python benchmarks/tree.py{name} --num-walks {options.num_walks} --seeds {options.seeds} "
        f"--splits {options.splits}",
    )


if __name__ == "__main__":
    main()
