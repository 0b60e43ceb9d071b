"""The HTML report of a run: one file that opens offline."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from fedwalk.errors import SettingsError
from fedwalk.protocols.registry import known_protocol
from fedwalk.report.audit import attack_section, read_audit
from fedwalk.report.compare import Baseline, compare_section, read_baselines
from fedwalk.report.content import Section
from fedwalk.report.degrees import degree_section
from fedwalk.report.dendrogram import tree_section
from fedwalk.report.ledger import ledger_section
from fedwalk.report.map.layout import METHODS
from fedwalk.report.map.vertices import make_map
from fedwalk.report.privacy import privacy_of
from fedwalk.report.quality import Quality, measure_quality, quality_section
from fedwalk.report.record import again, cards, cost_section, message_section, settings_cards
from fedwalk.report.render import data_block, render
from fedwalk.report.source import Source, read_source
from fedwalk.report.verdict import verdict
from fedwalk.report.walks import walk_section
from fedwalk.run.stages import StageProgress, ignore_progress

__all__ = ["build_report"]


def build_report(
    run: Path,
    *,
    graph: str | None = None,
    format: str | None = None,  # noqa: A002
    labels: str | None = None,
    baselines: Iterable[Path] = (),
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
    baselines
        Run folders of the same graph, to compare this run with.
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
    others = read_baselines(source, tuple(baselines))
    audit = read_audit(run)
    on_progress("layout", 0, 1)
    drawn = make_map(source, layout, partial(on_progress, "layout"))
    on_progress("layout", 1, 1)
    vectors = tuple(other.embedding for other in others)
    quality = measure_quality(source, vectors, splits, threads, on_progress)
    return render(
        title=title or run.resolve().name,
        subtitle=_subtitle(source),
        verdict=verdict(source, quality, others, tuple(audit["findings"]) if audit else ()),
        cards=cards(source),
        map=drawn,
        data=data_block(drawn.data),
        sections=_sections(source, others, quality, audit),
        privacy=privacy_of(source),
        settings=settings_cards(source),
        again=again(source),
        version=source.record.version,
    )


def _sections(
    source: Source, others: tuple[Baseline, ...], quality: Quality, audit: dict[str, Any] | None
) -> list[Section]:
    """The sections between the map and the privacy box."""
    return [
        *([compare_section(source, others, quality, audit)] if others else []),
        quality_section(quality),
        attack_section(source, audit),
        ledger_section(source),
        tree_section(source),
        walk_section(source),
        degree_section(source),
        message_section(source),
        cost_section(source),
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
