"""The HTML report of a run: one file that opens offline."""

from functools import partial
from pathlib import Path

from fedwalk.errors import SettingsError
from fedwalk.protocols.registry import known_protocol
from fedwalk.report.audit import attack_section
from fedwalk.report.content import Section
from fedwalk.report.degrees import degree_section
from fedwalk.report.dendrogram import tree_section
from fedwalk.report.ledger import ledger_section
from fedwalk.report.map.layout import METHODS
from fedwalk.report.map.vertices import make_map
from fedwalk.report.privacy import privacy_of
from fedwalk.report.quality import quality_section
from fedwalk.report.record import again, cards, cost_section, message_section, settings_cards
from fedwalk.report.render import data_block, render
from fedwalk.report.source import Source, read_source
from fedwalk.report.walks import walk_section
from fedwalk.run.stages import StageProgress, ignore_progress

__all__ = ["build_report"]


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
    on_progress: StageProgress | None = None,
) -> str:
    """The page for a run folder, as HTML.

    Parameters
    ----------
    run
        A run folder, as `fedwalk embed`, `fedwalk demo` and `fedwalk federate run` write it.
    graph, format, labels
        The graph that was embedded, how to read it, and its labels. Without `graph`, the file that run.json names is
        used if it still exists and is the same graph.
    title
        Title of the page; by default the folder's name.
    layout
        Layout of the map: `tsne` or `pca`.
    splits
        Random splits per training ratio for F1; None to leave F1 out.
    threads
        Splits scored at a time; None for all cores.
    on_progress
        Called with (stage, done, total).

    Examples
    --------
    >>> import fedwalk, tempfile
    >>> from fedwalk.run.execute import embed_to_folder
    >>> folder = Path(tempfile.mkdtemp(), "triangle")
    >>> _ = embed_to_folder(fedwalk.load_graph([[0, 1], [1, 2], [2, 0]]), fedwalk.Settings(num_walks=2, dim=4), folder)
    >>> page = build_report(folder)
    >>> page.startswith("<!doctype html>"), "<title>triangle</title>" in page
    (True, True)
    """
    _check(layout, splits, threads)
    on_progress = on_progress or ignore_progress
    source = read_source(run, graph, format, labels)
    on_progress("layout", 0, 1)
    drawn = make_map(source, layout, partial(on_progress, "layout"))
    on_progress("layout", 1, 1)
    return render(
        title=title or run.resolve().name,
        subtitle=_subtitle(source),
        cards=cards(source),
        map=drawn,
        data=data_block(drawn.data),
        sections=_sections(source, splits, threads, on_progress),
        privacy=privacy_of(source),
        settings=settings_cards(source),
        again=again(source),
        version=source.record.version,
    )


def _sections(source: Source, splits: int | None, threads: int | None, on_progress: StageProgress) -> list[Section]:
    """The sections between the map and the privacy box."""
    quality = quality_section(source, splits, threads, partial(on_progress, "evaluate"))
    if quality.figures:
        on_progress("evaluate", 1, 1)
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
    protocol, record = known_protocol(source.protocol), source.record
    if record.federation is None:
        place = "a simulation in one process"
    else:
        place = "a federation with simulated noise" if record.simulation else "a federation"
    if protocol is None:
        return f"Protocol {source.protocol}: {place}"
    return protocol.title if protocol.centralised else f"{protocol.title}: {place}"


def _check(layout: str, splits: int | None, threads: int | None) -> None:
    """Raise SettingsError now for what would otherwise fail after the layout, which can take a minute."""
    if layout not in METHODS:
        raise SettingsError(f"layout = {layout!r}: choose from {', '.join(METHODS)}.")
    if splits is not None and splits < 1:
        raise SettingsError(f"splits = {splits}: at least 1.")
    if threads is not None and threads < 1:
        raise SettingsError(f"threads = {threads}: at least 1.")
