"""`fedwalk links GRAPH`: score an embedding by predicting edges that it was trained without."""

import argparse
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from fedwalk.cli.arguments import Commands, add_columns, add_command, add_config, add_format, add_json, load_input
from fedwalk.cli.embed import add_settings, chosen_settings
from fedwalk.util.text import counted, listed, sentence

if TYPE_CHECKING:
    from fedwalk.evaluation import LinkScore, LinkSplit

SCORINGS = ("hadamard", "l1", "l2", "average", "combined", "cosine", "dot")
"""The same as in fedwalk.evaluation, which isn't imported before the command runs; a test compares the two."""
VALIDATION = 0.25
"""The share of the held-out edges on which a scoring is chosen."""

EPILOG = """\
examples:
  fedwalk links graph.edges
  fedwalk links graph.edges --protocol deepwalk --held-out 0.5
  fedwalk links graph.edges --scoring cosine --json

scorings of a pair:
  cosine, dot                        cosine or dot product of the two vectors; no training
  hadamard, l1, l2, average          logistic regression on their products, differences, squares of these, or means
  combined                           logistic regression on products, sums and lengths
  best                               tries all, chooses the best one on a quarter of the held-out pairs, and tests it
                                     on the others

The regressions are trained on edges of the training graph. The baselines need no vectors, but the whole training graph,
which no party of a federation is given: degree product, common neighbours, Adamic–Adar, resource allocation.
"""


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "links",
        call,
        summary="score an embedding by predicting edges",
        description="Holds out some edges, embeds the graph without them, and measures how well the vectors tell them "
        "from as many non-edges: area under the ROC curve (AUC) and average precision. Chooses the best "
        "scoring of a pair on other held-out pairs, and says so if a simple baseline beats the vectors.",
        epilog=EPILOG,
    )
    parser.add_argument(
        "graph", nargs="?", metavar="GRAPH", help="graph file or dataset (or `graph` under [input] in --config)"
    )
    parser.add_argument(
        "--held-out", type=float, default=0.2, metavar="R", help="share of the edges to hold out (default 0.2)"
    )
    parser.add_argument(
        "--scoring", choices=(*SCORINGS, "best"), default="best", help="how to score a pair, see below (default best)"
    )
    add_format(parser)
    add_columns(parser)
    add_config(parser)
    add_json(parser)
    parser.add_later(add_settings)


def call(options: argparse.Namespace) -> int:
    """Split the graph, embed the training part, score the held-out edges and print the scores."""
    settings, inputs = chosen_settings(options)
    from fedwalk.cli.show import StageBars, print_json, print_table
    from fedwalk.evaluation import BASELINES, best_score, score_baseline, score_links, split_edges
    from fedwalk.run.execute import run
    from fedwalk.run.stages import StageRunner
    from fedwalk.util.parallel import run_tasks

    graph = load_input(inputs)
    choose = options.scoring == "best"
    split = split_edges(graph, options.held_out, settings.seed, VALIDATION if choose else 0.0)
    scorings = SCORINGS if choose else (options.scoring,)
    held_out = len(split.held_out) + len(split.validation_edges)
    with StageBars(f"{settings.protocol}: {split.training}, {counted(held_out, 'edge', 'edges')} held out") as bars:
        finished = run(split.training, settings, StageRunner(on_progress=bars))
        tasks = [partial(score_links, finished.embedding, split, scoring, settings.seed) for scoring in scorings]
        tasks += [partial(score_baseline, split, name) for name in BASELINES]
        scores = run_tasks(tasks, 1, partial(bars, "score"))
        bars("score", 1, 1)
    scored, baselines = scores[: len(scorings)], scores[len(scorings) :]
    chosen = best_score(scored)
    verdict = compared(chosen, baselines)
    if options.json:
        record: dict[str, Any] = {
            "graph": inputs["graph"], "protocol": settings.protocol, "settings": finished.settings.as_dict(),
            "edges": graph.edges, "held_out": len(split.held_out), "non_edges": len(split.non_edges),
            "validation_edges": len(split.validation_edges), "scoring": chosen.scoring, "verdict": verdict,
            "scores": [asdict(score) for score in scored], "baselines": [asdict(score) for score in baselines],
        }  # fmt: skip
        print_json(record)
        return 0
    print_table(f"Link prediction on {inputs['graph']}", *table(scored, baselines, chosen if choose else None, split,
                settings.protocol))  # fmt: skip
    print(verdict if choose else f"{verdict} To try all scorings of the vectors: --scoring best.")
    return 0


def table(
    scored: "list[LinkScore]",
    baselines: "list[LinkScore]",
    chosen: "LinkScore | None",
    split: "LinkSplit",
    protocol: str,
) -> tuple[list[str], list[list[str]], str]:
    """Header, rows and footer; the chosen scoring, if any, is marked."""
    rows = [*score_rows(scored, f"{protocol}, ", chosen), *score_rows(baselines)]
    edges = counted(len(split.held_out), "held-out edge", "held-out edges")
    footer = f"{edges} against as many non-edges; chance gives 0.5"
    if chosen is None:
        return ["scored by", "AUC", "average precision"], rows, footer
    others = counted(len(split.validation_edges), "other held-out edge", "other held-out edges")
    footer += f"\n* best on the validation pairs: {others} and as many non-edges"
    return ["scored by", "validation AUC", "AUC", "average precision"], rows, footer


def score_rows(scores: "list[LinkScore]", prefix: str = "", chosen: "LinkScore | None" = None) -> list[list[str]]:
    """One row per score; the chosen one is marked."""
    return [
        [
            f"{prefix}{score.scoring}{' *' if score is chosen else ''}",
            *([] if score.validation_auc is None else [f"{score.validation_auc:.4f}"]),
            f"{score.auc:.4f}", f"{score.average_precision:.4f}",
        ]
        for score in scores
    ]  # fmt: skip


def compared(vectors: "LinkScore", baselines: "list[LinkScore]") -> str:
    """Whether baselines beat the vectors on the tested pairs, in plain words."""
    better = sorted((each for each in baselines if each.auc > vectors.auc), key=lambda each: -each.auc)
    if not better:
        best = max(baselines, key=lambda each: each.auc)
        ours = f"the vectors ({vectors.scoring}, AUC {vectors.auc:.3f})"
        return f"No baseline beats {ours}; the strongest is {best.scoring} ({best.auc:.3f})."
    first, *others = better
    names = [f"{first.scoring} (AUC {first.auc:.3f})", *(f"{each.scoring} ({each.auc:.3f})" for each in others)]
    # Degrees are popularity; all other baselines count common neighbours in some way.
    cause = "popularity predicts" if first.scoring == "degree product" else "common neighbours predict"
    verb, them = ("beat", "them") if others else ("beats", "it")
    return (
        f"{sentence(listed(names))} {verb} the vectors ({vectors.scoring}, {vectors.auc:.3f}): on this graph {cause} "
        f"links better than the embedding. Computing {them} takes the training graph, which no party of a federation "
        "is given."
    )
