"""The report of a run: one HTML file that opens without a network, for a person who wants to look."""

from functools import partial
from pathlib import Path

from fedwalk.errors import SettingsError
from fedwalk.report.audit import attack_section
from fedwalk.report.content import Section
from fedwalk.report.degrees import degree_section
from fedwalk.report.dendrogram import tree_section
from fedwalk.report.layout import METHODS
from fedwalk.report.ledger import ledger_section
from fedwalk.report.privacy import privacy_of
from fedwalk.report.quality import quality_section
from fedwalk.report.record import again, cards, cost_section, message_section, settings_cards
from fedwalk.report.render import data_block, render
from fedwalk.report.source import Source, read_source
from fedwalk.report.vertices import make_map
from fedwalk.report.walks import walk_section
from fedwalk.stages import Progress

__all__ = ["build_report"]

PROTOCOLS = {
    "paper": "FedWalk, as in the paper",
    "ldp": "Protocol ldp, with proved edge privacy",
    "deepwalk": "DeepWalk, the centralised baseline",
}


def build_report(
    run: Path,
    *,
    graph: str | None = None,
    format: str | None = None,  # noqa: A002
    labels: str | None = None,
    title: str | None = None,
    layout: str = "tsne",
    splits: int | None = 3,
    threads: int | None = None,
    progress: Progress | None = None,
) -> str:
    """The page for a run folder, as HTML.

    Parameters
    ----------
    run
        A folder that `fedwalk embed` or `fedwalk demo` wrote.
    graph, format, labels
        The graph that was embedded, how to read it, and its labels. Without `graph`, the file that run.json names is
        taken if it is still there and the same.
    title
        Of the page; by default the folder's name.
    layout
        Of the map: `tsne` or `pca`.
    splits
        Random splits per training ratio for F1; None to leave F1 out.
    threads
        Splits scored at a time; None for all cores.
    progress
        Called with (stage, done, total).

    Examples
    --------
    >>> import fedwalk, tempfile
    >>> from fedwalk.job import embed_to_folder
    >>> folder = Path(tempfile.mkdtemp(), "triangle")
    >>> _ = embed_to_folder(fedwalk.load_graph([[0, 1], [1, 2], [2, 0]]), fedwalk.Settings(walks=2, dim=4), folder)
    >>> page = build_report(folder)
    >>> page.startswith("<!doctype html>"), "<title>triangle</title>" in page
    (True, True)
    """
    _check(layout, splits, threads)
    say = progress or _silent
    source = read_source(run, graph, format, labels)
    say("layout", 0, 1)
    drawn = make_map(source, layout)
    say("layout", 1, 1)
    return render(
        title=title or run.resolve().name,
        subtitle=_subtitle(source),
        cards=cards(source),
        map=drawn,
        data=data_block(drawn.data),
        sections=_sections(source, splits, threads, say),
        privacy=privacy_of(source),
        settings=settings_cards(source),
        again=again(source),
        version=source.record.get("fedwalk", "?"),
    )


def _sections(source: Source, splits: int | None, threads: int | None, say: Progress) -> list[Section]:
    """Everything between the map and the privacy box."""
    quality = quality_section(source, splits, threads, partial(say, "evaluate"))
    if quality.figures:
        say("evaluate", 1, 1)
    return [
        tree_section(source),
        cost_section(source),
        message_section(source),
        walk_section(source),
        degree_section(source),
        quality,
        ledger_section(source),
        attack_section(source),
    ]


def _subtitle(source: Source) -> str:
    name = PROTOCOLS.get(source.protocol, source.protocol)
    place = "a simulation in one process" if source.record.get("simulation") else "a federation"
    return name if source.protocol == "deepwalk" else f"{name}: {place}"


def _check(layout: str, splits: int | None, threads: int | None) -> None:
    """Refuse what would fail only after the layout has taken its minute."""
    if layout not in METHODS:
        raise SettingsError(f"layout = {layout!r}: choose from {', '.join(METHODS)}.")
    if splits is not None and splits < 1:
        raise SettingsError(f"splits = {splits}: at least 1.")
    if threads is not None and threads < 1:
        raise SettingsError(f"threads = {threads}: at least 1.")


def _silent(stage: str, done: int, total: int) -> None:
    """Nobody listens."""
