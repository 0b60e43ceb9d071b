"""The section on F1: micro- and macro-F1 over the training ratio (Sec. 5.1), if the graph has labels.

The yardstick below every score is what the same classifier reaches without any vectors: it predicts the labels that are
most frequent among the vertices it was trained on. It is scored on the same splits.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from fedwalk.embedding import Embedding
from fedwalk.errors import InputError
from fedwalk.evaluation import Score, evaluate
from fedwalk.report.charts import Axis, Line, lines
from fedwalk.report.content import Absent, Figure, Section, Table
from fedwalk.report.source import Source
from fedwalk.run.stages import StageProgress
from fedwalk.util.text import mean_text

RATIOS = (0.1, 0.3, 0.5, 0.7, 0.9)
MIDDLE = 0.5
"""The training ratio of the score that the page opens with."""
KEY, TITLE = "quality", "F1"


@dataclass(frozen=True, slots=True)
class Quality:
    """The scores of a run, those without vectors, and those of the runs it is compared with; or why there are none.

    The scores of each are in the order of RATIOS.
    """

    scores: tuple[Score, ...] = ()
    frequent: tuple[Score, ...] = ()
    others: tuple[tuple[Score, ...], ...] = ()
    absent: tuple[Absent, ...] = ()


def measure_quality(
    source: Source,
    others: tuple[Embedding, ...],
    splits: int | None,
    threads: int | None,
    on_progress: StageProgress,
) -> Quality:
    """Score the embedding and the others, or say why they aren't scored; `splits` is None if no scores are wanted."""
    if source.graph is None:
        return Quality(absent=(source.no_graph,) if source.no_graph else ())
    if source.graph.labels is None:
        reason = "The graph has no labels, so there is no F1 and no colour on the map."
        return Quality(absent=(Absent(reason, source.command("--labels FILE")),))
    if splits is None:
        return Quality(absent=(Absent("The embedding was not scored (--no-evaluate).", source.command()),))
    score = partial(evaluate, graph=source.graph, train_ratios=RATIOS, splits=splits, threads=threads)
    try:
        scores = score(source.embedding, on_progress=partial(on_progress, "evaluate"))
        compared = tuple(tuple(score(other, on_progress=partial(on_progress, "compare"))) for other in others)
    except InputError as error:
        return Quality(absent=(Absent(f"The embedding can't be scored: {error}"),))
    # From zeros a classifier learns nothing but how frequent each label is.
    empty = Embedding(source.embedding.nodes, np.zeros((len(source.embedding), 1), np.float32))
    frequent = tuple(score(empty))
    for stage in ("evaluate", *(["compare"] if others else [])):
        on_progress(stage, 1, 1)
    return Quality(tuple(scores), frequent, compared)


def middle(scores: tuple[Score, ...]) -> Score:
    """The score at the training ratio of one half."""
    return next(score for score in scores if score.train_ratio == MIDDLE)


def quality_section(quality: Quality) -> Section:
    """The scores as lines and as a table."""
    if not quality.scores:
        return Section(KEY, TITLE, absent=quality.absent)
    splits = quality.scores[0].splits
    over = f"mean and standard deviation over {splits:,} random splits" if splits > 1 else "one random split"
    text = (
        "A classifier is shown the labels of some vertices and guesses those of the others from their vectors. F1 is 1 "
        "if every guess is right and 0 if none is; micro-F1 counts every label of every vertex alike, macro-F1 every "
        "kind of label.",
        f"One-vs-rest logistic regression on the vectors, {over}. For each vertex as many labels are predicted as it "
        "truly has: the field's convention, which overstates real-world F1.",
    )
    return Section(KEY, TITLE, text, (_figure(quality),), _table(quality))


def _figure(quality: Quality) -> Figure:
    """Micro- and macro-F1 as lines with error bars, above the micro-F1 without vectors."""
    scores, ratios = quality.scores, list(RATIOS)
    series = [
        Line(
            f"{kind}-F1",
            ratios,
            [getattr(s, f"{kind}_f1") for s in scores],
            [std for s in scores if (std := getattr(s, f"{kind}_f1_std")) is not None],
            True,
        )
        for kind in ("micro", "macro")
    ]
    series.append(Line("no vectors", ratios, [score.micro_f1 for score in quality.frequent]))
    description = (
        "; ".join(f"at {s.train_ratio:g}: micro {s.micro_f1:.3f}, macro {s.macro_f1:.3f}" for s in scores) + "."
    )
    drawn = lines("F1 over the training ratio", description, series, Axis("training ratio"), Axis("F1"))
    caption = (
        "F1 on the other labelled vertices, by the share that the classifier is trained on. No vectors: the "
        "micro-F1 of always guessing the most frequent labels."
    )
    return Figure(drawn, caption)


def _table(quality: Quality) -> Table:
    rows = tuple(
        (
            f"{s.train_ratio:g}",
            mean_text(s.micro_f1, s.micro_f1_std),
            mean_text(s.macro_f1, s.macro_f1_std),
            f"{none.micro_f1:.4f}",
        )
        for s, none in zip(quality.scores, quality.frequent, strict=True)
    )
    return Table(("training ratio", "micro-F1", "macro-F1", "micro-F1 without vectors"), rows)
