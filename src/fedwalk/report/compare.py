"""The section that puts this run beside others of the same graph: protocol, ε, F1, messages, time and privacy."""

from dataclasses import dataclass
from pathlib import Path

from fedwalk.embedding import Embedding
from fedwalk.errors import InputError
from fedwalk.evaluation import Score
from fedwalk.privacy.ledger import or_unbounded
from fedwalk.report.charts import Bar, bars
from fedwalk.report.content import Figure, Section, Table
from fedwalk.report.quality import MIDDLE, Quality, middle
from fedwalk.report.source import Source
from fedwalk.run.record import RunRecord, read_run
from fedwalk.util.text import bytes_text, count_text, epsilon_text, mean_text, seconds_text

HEAD = (
    "run", "protocol", "ε per edge", "micro-F1", "macro-F1", "hops per walk", "messages", "bytes", "time", "privacy",
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Baseline:
    """A finished run that another one is compared with."""

    path: Path
    record: RunRecord
    embedding: Embedding

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
        baselines.append(Baseline(folder, record, Embedding.load(folder)))
    return tuple(baselines)


def _refusal(record: RunRecord, source: Source) -> str:
    if (record.federation is None) != (source.record.federation is None):
        return (
            f"can't be compared with {source.path}: only one of them was made by a federation, in which no party knows "
            "the graph, so it can't be checked that both have the same one."
        )
    return f"isn't a run of the graph of {source.path} (its fingerprint differs). Compare runs of the same graph."


def compare_section(source: Source, baselines: tuple[Baseline, ...], quality: Quality) -> Section:
    """A row per run, this one first, and their F1 as bars if they were scored."""
    names = unique_names((source.path, *(baseline.path for baseline in baselines)))
    records = (source.record, *(baseline.record for baseline in baselines))
    scores = (quality.scores, *(quality.others or ((),) * len(baselines)))
    rows = tuple((name, *_cells(record, own)) for name, record, own in zip(names, records, scores, strict=True))
    text = [
        f"The first row is this run. F1 is at a training ratio of {MIDDLE:g}, on the same splits for all of them. "
        "How many edges the server finds isn't in this table: audit each run."
    ]
    figures = []
    if quality.scores:
        values = [middle(own).micro_f1 for own in (*scores, quality.frequent)]
        labels = (*names, "without vectors")
        drawn = bars(
            "Micro-F1", [Bar(label, value, f"{value:.3f}") for label, value in zip(labels, values, strict=True)]
        )
        figures.append(Figure(drawn, "Micro-F1 of each run, and of always guessing the most frequent labels."))
    else:
        text = ["The first row is this run. There is no F1: the section on F1 says why."]
    return Section("compare", "Compared", tuple(text), tuple(figures), Table(HEAD, rows))


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
