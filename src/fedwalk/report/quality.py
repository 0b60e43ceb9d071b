"""The section on F1: micro- and macro-F1 over the training ratio (Sec. 5.1), if the graph has labels."""

from fedwalk.errors import InputError
from fedwalk.evaluation import Score, evaluate
from fedwalk.report.charts import Axis, Line, lines
from fedwalk.report.content import Absent, Figure, Section, Table
from fedwalk.report.source import Source
from fedwalk.util.parallel import Progress
from fedwalk.util.text import mean_text

RATIOS = (0.1, 0.3, 0.5, 0.7, 0.9)
KEY, TITLE = "quality", "F1"


def quality_section(source: Source, splits: int | None, threads: int | None, on_progress: Progress) -> Section:
    """Score the embedding, or say why it isn't scored; `splits` is None if scores weren't requested."""
    if source.graph is None:
        return Section(KEY, TITLE, absent=(source.no_graph,) if source.no_graph else ())
    if source.graph.labels is None:
        reason = "The graph has no labels, so there is no F1 and no colour on the map."
        return Section(KEY, TITLE, absent=(Absent(reason, source.command("--labels FILE")),))
    if splits is None:
        reason = "The embedding was not scored (--no-evaluate)."
        return Section(KEY, TITLE, absent=(Absent(reason, source.command()),))
    try:
        scores = evaluate(
            source.embedding, source.graph, train_ratios=RATIOS, splits=splits, threads=threads, on_progress=on_progress
        )
    except InputError as error:
        return Section(KEY, TITLE, absent=(Absent(f"The embedding can't be scored: {error}"),))
    over = f"mean and standard deviation over {splits:,} random splits" if splits > 1 else "one random split"
    text = (
        f"One-vs-rest logistic regression on the vectors, {over}. For each vertex as many labels are predicted as it "
        "truly has: the field's convention, which overstates real-world F1."
    )
    return Section(KEY, TITLE, (text,), (_figure(scores),), _table(scores))


def _figure(scores: list[Score]) -> Figure:
    """Micro- and macro-F1 as lines with error bars."""
    ratios = [score.train_ratio for score in scores]
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
    description = (
        "; ".join(f"at {s.train_ratio:g}: micro {s.micro_f1:.3f}, macro {s.macro_f1:.3f}" for s in scores) + "."
    )
    drawn = lines("F1 over the training ratio", description, series, Axis("training ratio"), Axis("F1"))
    caption = "F1 on the other labelled vertices, by the share that the classifier is trained on."
    return Figure(drawn, caption)


def _table(scores: list[Score]) -> Table:
    rows = tuple(
        (f"{s.train_ratio:g}", mean_text(s.micro_f1, s.micro_f1_std), mean_text(s.macro_f1, s.macro_f1_std))
        for s in scores
    )
    return Table(("training ratio", "micro-F1", "macro-F1"), rows)
