"""The sections that `run.json` alone can fill: key numbers, time and memory, messages, settings and the command."""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from fedwalk.report.charts import Bar, bars
from fedwalk.report.content import Absent, Card, Figure, Section, Table
from fedwalk.report.source import Source
from fedwalk.settings import Settings
from fedwalk.words import bytes_text, count_text, seconds_text


def cards(source: Source) -> list[Card]:
    """What one wants to know first."""
    record, walks = source.record, source.record["walks"]
    isolated = record["graph"].get("isolated")
    found = [
        Card("vertices", count_text(record["graph"]["vertices"]), f"{isolated:,} isolated" if isolated else ""),
    ]
    if record["graph"]["edges"] is not None:
        found.append(Card("edges", count_text(record["graph"]["edges"])))
    if federation := record.get("federation"):
        lost = ", ".join(federation["lost"])
        found.append(Card("holders", count_text(len(federation["holders"])), f"lost: {lost}" if lost else "none lost"))
    if walks["count"]:
        found.append(Card("walks", count_text(walks["count"]), f"of {walks['length']} entries"))
    if decoded := record.get("decoded"):
        share = decoded["expected_edges"] / max(1, decoded["reported_pairs"])
        found.append(Card("reported pairs", count_text(decoded["reported_pairs"]), f"about {share:.0%} of them edges"))
    if sent := sum(entry["bytes"] for entry in record["messages"].values()):
        messages = sum(entry["count"] for entry in record["messages"].values())
        if record["messages"].get("hops", {}).get("count"):
            expected = f"expected {walks['expected_hops_per_walk']:.2f}"
            found.append(Card("hops per walk", f"{walks['hops_per_walk']:.2f}", expected))
        found.append(Card("sent in all", bytes_text(sent), f"{messages:,} messages"))
    memory = record.get("peak_rss_bytes")
    held = f"{bytes_text(memory)} of memory" if memory else ""
    found.append(Card("time", seconds_text(record["seconds"]["total"]), held))
    if record.get("nominal_epsilon") is not None:
        found.append(Card("nominal ε", f"{record['nominal_epsilon']:g}", "a noise scale, no guarantee"))
    if source.protocol == "ldp":
        proved = "in all, proved; here simulated" if record.get("simulation") else "in all, proved"
        found.append(Card("ε per edge", _plain(source.settings["epsilon"]), proved))
    return found


def cost_section(source: Source) -> Section:
    """Time per stage; memory per stage if the run measured it, else for the whole."""
    record = source.record
    seconds = {stage: took for stage, took in record["seconds"].items() if stage != "total"}
    memory: dict[str, int] = record.get("peak_rss_by_stage") or {}
    total = seconds_text(record["seconds"]["total"])
    figures = [Figure(bars("Time per stage", _bars(seconds, seconds_text)), f"Time of each stage; {total} in all.")]
    text = []
    if memory:
        drawn = bars("Memory per stage", _bars(memory, bytes_text))
        figures.append(Figure(drawn, "The most memory that the process had held by the end of each stage."))
    elif peak := record.get("peak_rss_bytes"):
        text.append(f"The run held {bytes_text(peak)} of memory at most; it wasn't measured stage by stage.")
    rows = [
        (stage, seconds_text(took), *((bytes_text(memory[stage]) if stage in memory else "",) if memory else ()))
        for stage, took in seconds.items()
    ]
    head = ("stage", "time", *(("memory",) if memory else ()))
    return Section("cost", "Time and memory", tuple(text), tuple(figures), Table(head, tuple(rows)))


def message_section(source: Source) -> Section:
    """Bytes and messages per phase."""
    phases = {phase: entry for phase, entry in source.record["messages"].items() if entry["count"]}
    key, title = "messages", "Messages"
    if not phases:
        reason = f"Nothing is sent: {source.protocol} works on the whole graph in one place."
        return Section(key, title, absent=(Absent(reason),))
    head = ("phase", "messages", "bytes", "route", "can be observed by")
    rows = tuple(
        (phase, count_text(entry["count"]), bytes_text(entry["bytes"]), entry["route"], ", ".join(entry["observers"]))
        for phase, entry in phases.items()
    )
    sizes = _bars({phase: entry["bytes"] for phase, entry in phases.items()}, bytes_text)
    counts = _bars({phase: entry["count"] for phase, entry in phases.items()}, count_text)
    figures = (
        Figure(bars("Bytes per phase", sizes), "Bytes of each phase, all devices together."),
        Figure(bars("Messages per phase", counts), "Messages of each phase, all devices together."),
    )
    return Section(key, title, ("Every message of the run, in the protocol's order.",), figures, Table(head, rows))


def settings_cards(source: Source) -> list[Card]:
    """Every setting, with the default where the run's value differs from it."""
    defaults = asdict(Settings())
    found = []
    for name, value in source.settings.items():
        default = defaults.get(name)
        changed = default is not None and value != default
        found.append(Card(name, _plain(value), f"default {_plain(default)}" if changed else ""))
    return found


def again(source: Source, **other: str) -> str:
    """The command that makes the same run, or one with some settings changed."""
    inputs: dict[str, Any] = source.record.get("input") or {}
    federated = source.record.get("federation") is not None
    command = ["federate", "run", "FEDERATION"] if federated else ["embed", source.origin or "GRAPH"]
    words = ["fedwalk", *command, "-o", "again"]
    if inputs.get("format"):
        words += ["--format", inputs["format"]]
    defaults = asdict(Settings())
    for name, value in {**source.settings, **other}.items():
        unused = name == "bins" and source.protocol != "paper"
        if value is not None and value != defaults.get(name) and not unused:
            words += [f"--{name.replace('_', '-')}", _plain(value)]
    if source.walks is not None:
        words.append("--keep-walks")
    return shlex.join(words)


def _bars(values: Mapping[str, float], text: Callable[[float], str]) -> list[Bar]:
    return [Bar(name, value, text(value)) for name, value in values.items()]


def _plain(value: object) -> str:
    """A value as a flag takes it, with every digit: 2.0 as 2, 0.1 as 0.1."""
    return str(value).removesuffix(".0") if isinstance(value, float) else str(value)
