"""`fedwalk links GRAPH`: how well an embedding of a part of the edges predicts the others."""

import argparse
import json
import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedwalk.cli.embed import FORMATS, add_settings, chosen_settings

if TYPE_CHECKING:
    from fedwalk.evaluation import LinkScore

METHODS = ("hadamard", "l1", "l2", "average", "cosine", "dot")
"""As the library has them, which isn't imported before the command runs: a test compares the two."""

EPILOG = """\
examples:
  fedwalk links graph.edges
  fedwalk links graph.edges --protocol deepwalk --held-out 0.5
  fedwalk links graph.edges --method cosine --json

The baselines need no vectors: an embedding that doesn't beat them has found little that degrees and common
neighbours don't show.
"""


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Enter the command."""
    parser = commands.add_parser(
        "links",
        help="score an embedding by the edges it predicts",
        description="Holds out some edges, embeds the graph without them, and tells them from as many pairs that no "
        "edge joins: area under the ROC curve (AUC) and average precision, beside two baselines.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("graph", nargs="?", metavar="GRAPH", help="graph file (or `graph` under [input] in --config)")
    parser.add_argument("--held-out", type=float, default=0.2, metavar="R", help="share of the edges (default 0.2)")
    parser.add_argument("--method", choices=METHODS, help="how a pair is scored (default all, one by one)")
    parser.add_argument("--format", choices=FORMATS, help="how to read GRAPH; by default its suffix tells")
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings as TOML; flags override them")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.set_defaults(call=call)
    add_settings(parser)


def call(options: argparse.Namespace) -> int:
    """Split, embed, score, show."""
    settings, inputs = chosen_settings(options)
    from fedwalk.cli.show import StageBars, print_table
    from fedwalk.evaluation import BASELINES, score_baseline, score_links, split_edges
    from fedwalk.graph import load_graph
    from fedwalk.graph.datasets import resolve_graph
    from fedwalk.kernels.threads import run_tasks
    from fedwalk.pipeline import run
    from fedwalk.stages import Stages

    graph = load_graph(resolve_graph(str(inputs["graph"])), format=inputs["format"])
    for note in graph.notes:
        print(f"fedwalk: note: {note}", file=sys.stderr)
    split = split_edges(graph, options.held_out, settings.seed)
    methods = [options.method] if options.method else METHODS
    with StageBars(f"{settings.protocol}: {split.training}, {len(split.held_out):,} edges held out") as bars:
        finished = run(split.training, settings, Stages(progress=bars))
        tasks = [partial(score_links, finished.embedding, split, method, settings.seed) for method in methods]
        tasks += [partial(score_baseline, split, name) for name in BASELINES]
        scores = run_tasks(tasks, 1, partial(bars, "score"))
    scored, baselines = scores[: len(methods)], scores[len(methods) :]
    if options.json:
        record: dict[str, Any] = {
            "graph": inputs["graph"], "protocol": settings.protocol, "settings": asdict(finished.settings),
            "edges": graph.edges, "held_out": len(split.held_out), "non_edges": len(split.non_edges),
            "scores": [asdict(score) for score in scored], "baselines": [asdict(score) for score in baselines],
        }  # fmt: skip
        print(json.dumps(record, indent=2, ensure_ascii=False))
        return 0
    rows = [*score_rows(scored, f"{settings.protocol}, "), *score_rows(baselines, "")]
    footer = f"{len(split.held_out):,} held-out edges against as many non-edges; chance gives 0.5"
    print_table(f"Link prediction on {inputs['graph']}", ["scored by", "AUC", "average precision"], rows, footer)
    return 0


def score_rows(scores: "list[LinkScore]", prefix: str) -> list[list[str]]:
    """A row per score."""
    return [[f"{prefix}{score.method}", f"{score.auc:.4f}", f"{score.average_precision:.4f}"] for score in scores]
