"""The section that compares this run with others of the same graph: protocol, ε, F1, messages, time and attacks."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedwalk.embedding import Embedding
from fedwalk.errors import InputError
from fedwalk.evaluation import Score
from fedwalk.privacy.ledger import or_unbounded
from fedwalk.protocols.registry import known_protocol
from fedwalk.report.audit import best_attack, read_audit, share_text
from fedwalk.report.charts import Bar, bars
from fedwalk.report.content import Figure, Section, Table
from fedwalk.report.quality import MIDDLE, Quality, middle
from fedwalk.report.source import Source
from fedwalk.run.record import RunRecord, read_run
from fedwalk.util.text import bytes_text, count_text, epsilon_text, mean_text, seconds_text

HEAD: tuple[str, ...] = (
    "run", "protocol", "ε per edge", "micro-F1", "macro-F1", "hops per walk", "messages", "bytes", "time", "privacy",
)  # fmt: skip
FOUND = "edges found"
"""The last column, if there is such a number for every run."""


@dataclass(frozen=True, slots=True, eq=False)
class Baseline:
    """A finished run that another one is compared with."""

    path: Path
    record: RunRecord
    embedding: Embedding
    audit: dict[str, Any] | None

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.path.resolve().name


def read_baselines(source: Source, folders: tuple[Path, ...]) -> tuple[Baseline, ...]:
    """Read the runs; InputError if one of them is of another graph than this run."""
    baselines = []
    for folder in folders:
        record = read_run(folder)
        if record.graph.fingerprint != source.record.graph.fingerprint:
            raise InputError(f"{folder}: {_refusal(record, source)}")
        baselines.append(Baseline(folder, record, Embedding.load(folder), read_audit(folder)))
    return tuple(baselines)


def _refusal(record: RunRecord, source: Source) -> str:
    if (record.federation is None) != (source.record.federation is None):
        return (
            f"can't be compared with {source.path}: only one of them was made by a federation, in which no party knows "
            "the graph, so it can't be checked that both have the same one."
        )
    return f"isn't a run of the graph of {source.path} (its fingerprint differs). Compare runs of the same graph."


def compare_section(
    source: Source, baselines: tuple[Baseline, ...], quality: Quality, audit: dict[str, Any] | None
) -> Section:
    """A row per run, this one first, and their F1 as bars if they were scored."""
    names = unique_names((source.path, *(baseline.path for baseline in baselines)))
    records = (source.record, *(baseline.record for baseline in baselines))
    scores = (quality.scores, *(quality.others or ((),) * len(baselines)))
    rows = tuple((name, *_cells(record, own)) for name, record, own in zip(names, records, scores, strict=True))
    head, found = HEAD, _edges_found(records, (audit, *(baseline.audit for baseline in baselines)))
    if found is not None:
        head, rows = (*HEAD, FOUND), tuple((*row, cell) for row, cell in zip(rows, found, strict=True))
    text = f"The first row is this run. {_about_f1(quality)} {_about_found(found is not None)}"
    figures = (_f1_figure(names, scores, quality),) if quality.scores else ()
    return Section("compare", "Compared", (text,), figures, Table(head, rows))


def _about_f1(quality: Quality) -> str:
    if not quality.scores:
        return "There is no F1: the section on F1 says why."
    return f"F1 is at a training ratio of {MIDDLE:g}, on the same splits for all of them."


def _about_found(audited: bool) -> str:
    if not audited:
        return "How many edges the server finds isn't in this table: audit each run."
    return "The edges found are those that the best attack of the run's audit named."


def _f1_figure(names: tuple[str, ...], scores: tuple[tuple[Score, ...], ...], quality: Quality) -> Figure:
    values = [middle(own).micro_f1 for own in (*scores, quality.frequent)]
    labels = (*names, "without vectors")
    drawn = bars("Micro-F1", [Bar(label, value, f"{value:.3f}") for label, value in zip(labels, values, strict=True)])
    return Figure(drawn, "Micro-F1 of each run, and of always guessing the most frequent labels.")


def _edges_found(records: tuple[RunRecord, ...], audits: tuple[dict[str, Any] | None, ...]) -> tuple[str, ...] | None:
    """The share of the edges that were found in each run; None if it isn't known for all runs, or none was audited."""
    cells = tuple(_found(record, audit) for record, audit in zip(records, audits, strict=True))
    known = tuple(cell for cell in cells if cell is not None)
    return known if any(audits) and len(known) == len(cells) else None


def _found(record: RunRecord, audit: dict[str, Any] | None) -> str | None:
    protocol = known_protocol(record.protocol)
    if protocol is not None and protocol.centralised:
        return "100%: one party has the graph"
    if audit is None:
        return None
    best = best_attack(audit["findings"])
    if best is None:
        return "none"
    recall, precision = best["success"]["recall"], best["success"]["precision"]
    return f"{share_text(recall)}, with {share_text(precision)} of the guesses right"


def unique_names(paths: tuple[Path, ...]) -> tuple[str, ...]:
    """The folders' names; whole paths if two have the same name.

    >>> unique_names((Path("/a/paper"), Path("/a/ldp"))), unique_names((Path("/a/run"), Path("/b/run")))
    (('paper', 'ldp'), ('/a/run', '/b/run'))
    """
    names = tuple(path.resolve().name for path in paths)
    return names if len(set(names)) == len(names) else tuple(str(path) for path in paths)


def _cells(record: RunRecord, scores: tuple[Score, ...]) -> tuple[str, ...]:
    """The row of a run, without its name."""
    traffic, hops = record.messages.traffic.values(), record.walks.hops_per_walk
    micro, macro = "–", "–"
    if scores:
        score = middle(scores)
        micro = mean_text(score.micro_f1, score.micro_f1_std)
        macro = mean_text(score.macro_f1, score.macro_f1_std)
    return (
        record.protocol,
        ledger_epsilon(record),
        micro,
        macro,
        f"{hops:.2f}" if hops else "–",
        count_text(sum(entry.count for entry in traffic)),
        bytes_text(sum(entry.bytes for entry in traffic)),
        seconds_text(record.seconds["total"]),
        record.privacy.partition(":")[0],
    )


def ledger_epsilon(record: RunRecord) -> str:
    """The ledger's total per edge; a nominal ε is named as such."""
    releases = record.ledger.releases.values()
    if not releases:
        return "–"
    return epsilon_text(or_unbounded(record.ledger.per_edge), nominal=any(release.nominal for release in releases))
