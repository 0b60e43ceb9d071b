"""`fedwalk evaluate RUN --graph GRAPH`: score an embedding by micro- and macro-F1."""

import argparse
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedwalk.cli.arguments import (
    Commands,
    add_columns,
    add_command,
    add_json,
    add_run_graph,
    add_seed,
    add_threads,
    chosen_columns,
)
from fedwalk.errors import SettingsError

if TYPE_CHECKING:
    from fedwalk.embedding import Embedding
    from fedwalk.graph import Graph

EPILOG = """\
examples:
  fedwalk evaluate run --graph blogcatalog.mat
  fedwalk evaluate run --graph graph.edges --labels labels.txt --train-ratio 0.1,0.5 --splits 5
  fedwalk evaluate run --graph blogcatalog.mat --baseline deepwalk-run
"""


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "evaluate",
        call,
        summary="score an embedding by predicting labels",
        description="Predicts the labels of vertices from their vectors by one-vs-rest logistic regression, and prints "
        "micro- and macro-F1: mean and standard deviation over random splits.",
        epilog=EPILOG,
    )
    parser.add_argument("run", type=Path, metavar="RUN", help="run folder, or an embedding file (.npz)")
    add_run_graph(parser, required=True)
    add_columns(parser)
    parser.add_argument(
        "--train-ratio", default="0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9", metavar="R,R,…",
        help="shares of the labelled vertices to train on (default 0.1,0.2,…,0.9)",
    )  # fmt: skip
    parser.add_argument("--splits", type=int, default=10, metavar="N", help="random splits per ratio (default 10)")
    parser.add_argument(
        "--rule", default="known-count", choices=("known-count", "threshold"),
        help="how many labels to predict: the true number, which is the field's convention, or all with a probability "
        "above 0.5 (default known-count)",
    )  # fmt: skip
    parser.add_argument("--baseline", type=Path, metavar="RUN", help="another run to compare with, e.g. DeepWalk's")
    add_seed(parser, "the splits")
    add_threads(parser, "number of splits scored in parallel")
    add_json(parser)


def parse_ratios(text: str) -> list[float]:
    """The ratios of a comma-separated list.

    >>> parse_ratios("0.1,0.5")
    [0.1, 0.5]
    """
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise SettingsError(
            f"train-ratio = {text!r}: expected numbers separated by commas, e.g. 0.1,0.5,0.9."
        ) from None


def arranged_as(run: Path, graph: "Graph", embedding: "Embedding", origin: str) -> "Graph":
    """The graph in the order of the vectors; InputError if it isn't the graph of the run.

    Scores of one graph's vectors on another one can look plausible.
    """
    from fedwalk.run.folder import RECORD_FILE
    from fedwalk.run.record import graph_of_run, read_run

    # A single file of vectors says nothing about its graph, and no party of a federation knows the fingerprint.
    if run.is_dir() and (run / RECORD_FILE).exists() and (record := read_run(run)).federation is None:
        return graph_of_run(graph, record, embedding.nodes, origin)
    return graph.arranged(embedding.nodes)


def call(options: argparse.Namespace) -> int:
    """Score one or two embeddings and print the scores."""
    # Before the slow imports, so that a mistake is reported at once.
    ratios = parse_ratios(options.train_ratio)
    from fedwalk.cli.show import StageBars, loss_texts, print_json, print_table, score_texts
    from fedwalk.embedding import Embedding
    from fedwalk.evaluation import Score, evaluate, losses
    from fedwalk.graph import load_graph
    from fedwalk.graph.datasets import resolve_graph
    from fedwalk.run.folder import EMBEDDING_FILE

    runs = [options.run, *([options.baseline] if options.baseline else [])]
    paths = [run / EMBEDDING_FILE if run.is_dir() else run for run in runs]
    embeddings = [Embedding.load(path) for path in paths]
    graph = load_graph(
        resolve_graph(options.graph), format=options.format, labels=options.labels, **chosen_columns(options)
    )
    # Backwards: the splits then follow the order of the first run's vectors, whatever order the file has.
    for run, embedding in reversed(list(zip(runs, embeddings, strict=True))):
        graph = arranged_as(run, graph, embedding, options.graph)
    scores: list[list[Score]] = []
    with StageBars() as bars:
        # Not strict: without --baseline there is only one embedding.
        for embedding, stage in zip(embeddings, ("evaluate", "baseline"), strict=False):
            scores.append(
                evaluate(
                    embedding, graph, train_ratios=ratios, splits=options.splits, seed=options.seed, rule=options.rule,
                    threads=options.threads, on_progress=partial(bars, stage),
                )
            )  # fmt: skip
            bars(stage, 1, 1)
    lost = [losses(score, other) for score, other in zip(*scores, strict=True)] if options.baseline else []
    if options.json:
        record: dict[str, Any] = {
            "embedding": str(paths[0]), "graph": options.graph, "rule": options.rule, "splits": options.splits,
            "seed": options.seed, "scores": [asdict(score) for score in scores[0]],
        }  # fmt: skip
        if options.baseline:
            record |= {"baseline": str(paths[1]), "baseline_scores": [asdict(s) for s in scores[1]], "losses": lost}
        print_json(record)
        return 0
    over = f"mean ± standard deviation over {options.splits} splits" if options.splits > 1 else "one split"
    footer = f"{over}; labels predicted by the rule {options.rule}"
    for path, results in zip(paths, scores, strict=True):
        rows = [[f"{score.train_ratio:g}", *score_texts(score)] for score in results]
        print_table(str(path), ["train ratio", "micro-F1", "macro-F1"], rows, footer)
    if lost:
        rows = [[f"{score.train_ratio:g}", *loss_texts(loss)] for score, loss in zip(scores[0], lost, strict=True)]
        print_table(f"Loss compared with {paths[1]}", ["train ratio", "micro-F1", "macro-F1"], rows)
    return 0
