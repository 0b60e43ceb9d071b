"""`fedwalk links GRAPH`: score an embedding by predicting edges that it was trained without."""

import argparse
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from fedwalk.cli.arguments import Commands, add_columns, add_command, add_config, add_format, add_json, load_input
from fedwalk.cli.embed import add_settings, chosen_settings

if TYPE_CHECKING:
    from fedwalk.evaluation import LinkScore

METHODS = ("hadamard", "l1", "l2", "average", "cosine", "dot")
"""The same as in fedwalk.evaluation, which isn't imported before the command runs; a test compares the two."""

EPILOG = """\
examples:
  fedwalk links graph.edges
  fedwalk links graph.edges --protocol deepwalk --held-out 0.5
  fedwalk links graph.edges --method cosine --json

The baselines need no vectors: an embedding that doesn't beat them adds little to degrees and common neighbours.
"""


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "links",
        call,
        summary="score an embedding by predicting edges",
        description="Holds out some edges, embeds the graph without them, and measures how well the vectors tell them "
        "from as many non-edges: area under the ROC curve (AUC) and average precision, compared with two baselines.",
        epilog=EPILOG,
    )
    parser.add_argument(
        "graph", nargs="?", metavar="GRAPH", help="graph file or dataset (or `graph` under [input] in --config)"
    )
    parser.add_argument(
        "--held-out", type=float, default=0.2, metavar="R", help="share of the edges to hold out (default 0.2)"
    )
    parser.add_argument("--method", choices=METHODS, help="how to score a pair (default: all methods)")
    add_format(parser)
    add_columns(parser)
    add_config(parser)
    add_json(parser)
    parser.add_later(add_settings)


def call(options: argparse.Namespace) -> int:
    """Split the graph, embed the training part, score the held-out edges and print the scores."""
    settings, inputs = chosen_settings(options)
    from fedwalk.cli.show import StageBars, print_json, print_table
    from fedwalk.evaluation import BASELINES, score_baseline, score_links, split_edges
    from fedwalk.run.execute import run
    from fedwalk.run.stages import StageRunner
    from fedwalk.util.parallel import run_tasks

    graph = load_input(inputs)
    split = split_edges(graph, options.held_out, settings.seed)
    methods = [options.method] if options.method else METHODS
    with StageBars(f"{settings.protocol}: {split.training}, {len(split.held_out):,} edges held out") as bars:
        finished = run(split.training, settings, StageRunner(on_progress=bars))
        tasks = [partial(score_links, finished.embedding, split, method, settings.seed) for method in methods]
        tasks += [partial(score_baseline, split, name) for name in BASELINES]
        scores = run_tasks(tasks, 1, partial(bars, "score"))
        bars("score", 1, 1)
    scored, baselines = scores[: len(methods)], scores[len(methods) :]
    if options.json:
        record: dict[str, Any] = {
            "graph": inputs["graph"], "protocol": settings.protocol, "settings": finished.settings.as_dict(),
            "edges": graph.edges, "held_out": len(split.held_out), "non_edges": len(split.non_edges),
            "scores": [asdict(score) for score in scored], "baselines": [asdict(score) for score in baselines],
        }  # fmt: skip
        print_json(record)
        return 0
    rows = [*score_rows(scored, f"{settings.protocol}, "), *score_rows(baselines, "")]
    footer = f"{len(split.held_out):,} held-out edges against as many non-edges; chance gives 0.5"
    print_table(f"Link prediction on {inputs['graph']}", ["scored by", "AUC", "average precision"], rows, footer)
    return 0


def score_rows(scores: "list[LinkScore]", prefix: str) -> list[list[str]]:
    """One row per score."""
    return [[f"{prefix}{score.method}", f"{score.auc:.4f}", f"{score.average_precision:.4f}"] for score in scores]
