"""`fedwalk evaluate RUN --graph GRAPH`: micro- and macro-F1 of an embedding."""

import argparse
import json
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from fedwalk.cli.embed import FORMATS
from fedwalk.errors import SettingsError

EPILOG = """\
examples:
  fedwalk evaluate run --graph blogcatalog.mat
  fedwalk evaluate run --graph graph.edges --labels labels.txt --train-ratio 0.1,0.5 --splits 5
  fedwalk evaluate run --graph blogcatalog.mat --baseline deepwalk-run
"""


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Enter the command."""
    parser = commands.add_parser(
        "evaluate",
        help="score an embedding by its vertices' labels",
        description="One-vs-rest logistic regression on the vectors: micro- and macro-F1, mean and standard "
        "deviation over random splits.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("run", type=Path, metavar="RUN", help="run folder, or an embedding file (.npz)")
    parser.add_argument("--graph", required=True, metavar="GRAPH", help="the embedded graph: a file or a dataset")
    parser.add_argument("--format", choices=FORMATS, help="how to read GRAPH; by default its suffix tells")
    parser.add_argument("--labels", metavar="FILE", help="labels as text: vertex label label …")
    parser.add_argument(
        "--train-ratio", default="0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9", metavar="R,R,…",
        help="shares of the labelled vertices to train on (default 0.1,0.2,…,0.9)",
    )  # fmt: skip
    parser.add_argument("--splits", type=int, default=10, metavar="N", help="random splits per ratio (default 10)")
    parser.add_argument(
        "--rule", default="known-count", choices=("known-count", "threshold"),
        help="predict as many labels as a vertex truly has, the field's custom, or all above 0.5 (default known-count)",
    )  # fmt: skip
    parser.add_argument("--baseline", type=Path, metavar="RUN", help="another run to compare with, e.g. DeepWalk's")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the splits (default 0)")
    parser.add_argument("--threads", type=int, default=None, metavar="T", help="splits at a time (default all cores)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.set_defaults(call=call)


def parse_ratios(text: str) -> list[float]:
    """Ratios from a comma-separated list.

    >>> parse_ratios("0.1,0.5")
    [0.1, 0.5]
    """
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise SettingsError(f"train-ratio = {text!r}: expected numbers between commas, e.g. 0.1,0.5,0.9.") from None


def call(options: argparse.Namespace) -> int:
    """Load, score, show."""
    ratios = parse_ratios(options.train_ratio)
    from fedwalk.cli.show import StageBars, loss_texts, print_table, score_texts
    from fedwalk.embedding import Embedding
    from fedwalk.evaluation import Score, evaluate, losses
    from fedwalk.graph import load_graph
    from fedwalk.graph.datasets import resolve_graph

    runs = [options.run, *([options.baseline] if options.baseline else [])]
    paths = [run / "embedding.npz" if run.is_dir() else run for run in runs]
    embeddings = [Embedding.load(path) for path in paths]
    graph = load_graph(resolve_graph(options.graph), format=options.format, labels=options.labels)
    scores: list[list[Score]] = []
    with StageBars() as bars:
        for embedding, stage in zip(embeddings, ("evaluate", "baseline"), strict=False):
            scores.append(
                evaluate(
                    embedding, graph, train_ratios=ratios, splits=options.splits, seed=options.seed, rule=options.rule,
                    threads=options.threads, report=partial(bars, stage),
                )
            )  # fmt: skip
    lost = [losses(score, other) for score, other in zip(*scores, strict=True)] if options.baseline else []
    if options.json:
        record: dict[str, Any] = {
            "embedding": str(paths[0]), "graph": options.graph, "rule": options.rule, "splits": options.splits,
            "seed": options.seed, "scores": [asdict(score) for score in scores[0]],
        }  # fmt: skip
        if options.baseline:
            record |= {"baseline": str(paths[1]), "baseline_scores": [asdict(s) for s in scores[1]], "losses": lost}
        print(json.dumps(record, indent=2, ensure_ascii=False))
        return 0
    footer = f"mean ± standard deviation over {options.splits} splits; labels predicted by the rule {options.rule}"
    for path, results in zip(paths, scores, strict=True):
        rows = [[f"{score.train_ratio:g}", *score_texts(score)] for score in results]
        print_table(str(path), ["train ratio", "micro-F1", "macro-F1"], rows, footer)
    if lost:
        rows = [[f"{score.train_ratio:g}", *loss_texts(loss)] for score, loss in zip(scores[0], lost, strict=True)]
        print_table(f"Lost against {paths[1]}", ["train ratio", "micro-F1", "macro-F1"], rows)
    return 0
