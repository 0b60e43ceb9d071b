"""The sections that `run.json` alone can fill: key numbers, time and memory, messages, settings and the command."""

import shlex
from collections.abc import Callable, Mapping
from typing import Any

from fedwalk.protocols.base import Fact
from fedwalk.protocols.registry import known_protocol
from fedwalk.report.charts import Bar, bars
from fedwalk.report.content import Absent, Card, Figure, Section, Table
from fedwalk.report.source import Source
from fedwalk.run.record import RunRecord, facts_of
from fedwalk.settings import Settings
from fedwalk.util.text import bytes_text, count_text, seconds_text


def cards(source: Source) -> list[Card]:
    """The key numbers, at the top of the page."""
    record = source.record
    graph, walks = record.graph, record.walks
    shown = [Card("vertices", count_text(graph.vertices), f"{graph.isolated:,} isolated" if graph.isolated else "")]
    if graph.edges is not None:
        shown.append(Card("edges", count_text(graph.edges)))
    if record.federation is not None:
        lost = ", ".join(record.federation["lost"])
        num_holders = len(record.federation["holders"])
        shown.append(Card("holders", count_text(num_holders), f"lost: {lost}" if lost else "none lost"))
    if walks.count:
        shown.append(Card("walks", count_text(walks.count), f"of {walks.length} entries"))
    shown += map(_fact_card, facts_of(record))
    shown += _traffic_cards(record)
    memory = f"{bytes_text(record.peak_rss_bytes)} of memory" if record.peak_rss_bytes else ""
    shown.append(Card("time", seconds_text(record.seconds["total"]), memory))
    if record.nominal_epsilon is not None:
        shown.append(Card("nominal ε", f"{record.nominal_epsilon:g}", "a noise scale, no guarantee"))
    if record.epsilon is not None:
        proved = "in all, proved; here simulated" if record.simulation else "in all, proved"
        shown.append(Card("ε per edge", _plain(record.epsilon), proved))
    return shown


def _fact_card(fact: Fact) -> Card:
    """The number in large type; the rest of the text and the note below it."""
    value, _, rest = fact.text.partition(", ")
    return Card(fact.name, value, "; ".join(filter(None, (rest, fact.note))))


def _traffic_cards(record: RunRecord) -> list[Card]:
    """Hops per walk, and what was sent in all; none if nothing was sent."""
    traffic, walks = record.messages.traffic.values(), record.walks
    size = sum(entry.bytes for entry in traffic)
    if not size:
        return []
    total = Card("sent in all", bytes_text(size), f"{sum(entry.count for entry in traffic):,} messages")
    if not walks.hops_per_walk or walks.expected_hops_per_walk is None:
        return [total]
    return [Card("hops per walk", f"{walks.hops_per_walk:.2f}", f"expected {walks.expected_hops_per_walk:.2f}"), total]


def cost_section(source: Source) -> Section:
    """Time per stage, and memory per stage if the run measured it, otherwise the peak of the whole run."""
    record = source.record
    seconds = {stage: took for stage, took in record.seconds.items() if stage != "total"}
    memory = record.peak_rss_by_stage
    total = seconds_text(record.seconds["total"])
    figures = [Figure(bars("Time per stage", _bars(seconds, seconds_text)), f"Time of each stage; {total} in all.")]
    text = []
    if memory:
        drawn = bars("Memory per stage", _bars(memory, bytes_text))
        figures.append(Figure(drawn, "The most memory that the process had held by the end of each stage."))
    elif record.peak_rss_bytes:
        text.append(
            f"The run held {bytes_text(record.peak_rss_bytes)} of memory at most; it wasn't measured stage by stage."
        )
    rows = [
        (stage, seconds_text(took), *((bytes_text(memory[stage]) if stage in memory else "",) if memory else ()))
        for stage, took in seconds.items()
    ]
    head = ("stage", "time", *(("memory",) if memory else ()))
    return Section("cost", "Time and memory", tuple(text), tuple(figures), Table(head, tuple(rows)))


def message_section(source: Source) -> Section:
    """Bytes and messages per phase."""
    phases = {phase: entry for phase, entry in source.record.messages.traffic.items() if entry.count}
    key, title = "messages", "Messages"
    if not phases:
        protocol = known_protocol(source.protocol)
        reason = (
            f"Nothing is sent: in {source.protocol}, one party holds the whole graph."
            if protocol is not None and protocol.centralised
            else f"The run counted no messages: {source.protocol} declares none."
        )
        return Section(key, title, absent=(Absent(reason),))
    head = ("phase", "messages", "bytes", "route", "can be observed by")
    rows = tuple(
        (phase, count_text(entry.count), bytes_text(entry.bytes), entry.route, ", ".join(entry.observers))
        for phase, entry in phases.items()
    )
    sizes = _bars({phase: entry.bytes for phase, entry in phases.items()}, bytes_text)
    counts = _bars({phase: entry.count for phase, entry in phases.items()}, count_text)
    figures = (
        Figure(bars("Bytes per phase", sizes), "Bytes of each phase, all devices together."),
        Figure(bars("Messages per phase", counts), "Messages of each phase, all devices together."),
    )
    return Section(key, title, ("Every message of the run, in the protocol's order.",), figures, Table(head, rows))


def settings_cards(source: Source) -> list[Card]:
    """Every setting, with the default where the run's value differs from it."""
    defaults = _defaults(source)
    shown = []
    for name, value in source.record.settings.items():
        default = defaults.get(name)
        changed = default is not None and value != default
        shown.append(Card(name, _plain(value), f"default {_plain(default)}" if changed else ""))
    return shown


def again(source: Source, **other: str) -> str:
    """The command that makes the same run, or one with some settings changed."""
    federated = source.record.federation is not None
    command = ["federate", "run", "FEDERATION"] if federated else ["embed", source.origin or "GRAPH"]
    words = ["fedwalk", *command, "-o", "again"]
    if chosen := source.record.input.get("format"):
        words += ["--format", chosen]
    protocol, defaults, shared = known_protocol(source.protocol), _defaults(source), Settings().as_dict()
    for name, value in {**source.record.settings, **other}.items():
        # A setting that the protocol doesn't read can't change the run.
        unused = protocol is not None and name in shared and name not in (*protocol.reads, "protocol")
        # `federate run` has another default protocol than `embed`, so there it is always named.
        usual = None if federated else Settings().protocol
        changed = value != (usual if name == "protocol" else defaults.get(name))
        if value is not None and changed and not unused:
            words += [f"--{name.replace('_', '-')}", _plain(value)]
    if source.walks is not None:
        words.append("--keep-walks")
    return shlex.join(words)


def _defaults(source: Source) -> dict[str, Any]:
    """The defaults of the run's protocol, its own settings included; those that all share if it isn't known here."""
    protocol = known_protocol(source.protocol)
    return (Settings() if protocol is None else Settings(protocol=protocol.name)).as_dict()


def _bars(values: Mapping[str, float], text: Callable[[float], str]) -> list[Bar]:
    return [Bar(name, value, text(value)) for name, value in values.items()]


def _plain(value: object) -> str:
    """A value as a flag takes it, with every digit: 2.0 as 2, 0.1 as 0.1."""
    return str(value).removesuffix(".0") if isinstance(value, float) else str(value)
