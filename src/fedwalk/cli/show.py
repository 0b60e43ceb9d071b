"""What a person sees: bars on standard error while waiting, short tables on standard output."""

import time
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from fedwalk.cli.interrupts import Interrupts
from fedwalk.words import bytes_text, epsilon_text, sentence

FEW_EDGES = 0.2
"""Of the reported pairs; BlogCatalog has 12 % at ε = 3, where micro-F1 is two thirds of what it could be."""
QUIET_SECONDS = 60.0
"""Elsewhere than on a terminal, a long stage says a word this often."""


class StageBars:
    """A bar per stage on a terminal; elsewhere a line per finished stage, and now and then one in a long stage.

    Call it with (stage, done, total).
    """

    def __init__(self, title: str = "") -> None:
        self._console = Console(stderr=True)
        self._title = title
        self._began: dict[str, float] = {}
        self._ended: set[str] = set()
        self._interrupts = Interrupts()
        self._tasks: dict[str, TaskID] = {}
        self._spoke = time.perf_counter()
        self._bars = Progress(
            TextColumn("{task.description:<10}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn(),
            TimeRemainingColumn(), console=self._console, disable=not self._console.is_terminal,
        )  # fmt: skip

    def __enter__(self) -> "StageBars":
        if self._title:
            self._console.print(self._title, style="bold", highlight=False, markup=False)
        self._bars.start()
        self._interrupts.watch()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._interrupts.unwatch()
        self._bars.stop()

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show how far the stage is."""
        self._interrupts.check()
        if stage not in self._began:
            self._began[stage] = time.perf_counter()
            self._tasks[stage] = self._bars.add_task(stage, total=total)
        self._bars.update(self._tasks[stage], completed=done, total=total)
        seconds = time.perf_counter() - self._began[stage]
        if (done, total) == (1, 1) and stage not in self._ended:
            self._ended.add(stage)
            self._say(f"  {stage:<10} {seconds:7.1f} s")
        elif 0 < done < total and time.perf_counter() - self._spoke >= QUIET_SECONDS:
            left = seconds * (total - done) / done
            self._say(f"  {stage:<10} {seconds:7.1f} s, {done / total:.0%} done, about {left / 60:.0f} min left")

    def _say(self, line: str) -> None:
        """A line where there are no bars."""
        self._spoke = time.perf_counter()
        if not self._console.is_terminal:
            self._console.print(line, highlight=False)


def print_table(title: str, header: list[str], rows: list[list[str]], footer: str = "") -> None:
    """A table on standard output; the first column is left-aligned, the others right."""
    heading = Text(title, style="bold", justify="left")
    table = Table(title=heading, title_justify="left", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for i, name in enumerate(header):
        table.add_column(name, justify="left" if i == 0 else "right", header_style="dim", no_wrap=i > 0)
    for row in rows:
        table.add_row(*row)
    console = _plain_console()
    console.print(table)
    if footer:
        console.print(footer, highlight=False, style="dim")
    console.print()


def _plain_console() -> Console:
    """A console that shows texts as they are: paths and names may have brackets, which rich takes for markup."""
    return Console(markup=False, emoji=False)


def print_facts(title: str, facts: list[tuple[str, str]]) -> None:
    """Names and values in two columns."""
    console = _plain_console()
    grid = Table.grid(padding=(0, 2, 0, 0))
    for name, value in facts:
        grid.add_row(name, value)
    console.print(title, style="bold", highlight=False, markup=False)
    console.print(grid)
    console.print()


def message_rows(record: dict[str, Any]) -> list[list[str]]:
    """A row per phase that sent something: messages, bytes, route. Who can observe them is in run.json."""
    return [
        [phase, f"{entry['count']:,}", bytes_text(entry["bytes"]), entry["route"]]
        for phase, entry in record["messages"].items()
        if entry["count"]
    ]


def print_messages(record: dict[str, Any]) -> None:
    """The table of messages, if any were sent."""
    if rows := message_rows(record):
        print_table("Messages", ["phase", "messages", "bytes", "route"], rows)


def print_ledger(record: dict[str, Any]) -> None:
    """The privacy ledger: every release, what it costs, and the total."""
    ledger = record.get("ledger")
    if not ledger:
        return
    rows = [
        [entry["what"], f"{entry['times']:,}", entry["unit"],
         epsilon_text(entry["epsilon"], entry["nominal"]), epsilon_text(entry["per_edge"], entry["nominal"])]
        for entry in ledger["releases"].values()
    ]  # fmt: skip
    budget = f" of a budget of {ledger['budget']:g}" if ledger["budget"] is not None else ""
    edge, device = epsilon_text(ledger["per_edge"]), epsilon_text(ledger["per_device"])
    total = f"All together: {edge} per edge{budget}, {device} per device (one entry of its list). "
    reasons = dict.fromkeys(
        f"{sentence(entry['what'])}, by {entry['by']}: {entry['why']}." for entry in ledger["releases"].values()
    )
    header = ["release", "times", "unit", "epsilon", "per edge"]
    print_table("Privacy ledger", header, rows, "\n".join([*reasons, total + sentence(record["privacy"])]))


def run_facts(record: dict[str, Any]) -> list[tuple[str, str]]:
    """The few lines one wants to know of a run."""
    graph, walks = record["graph"], record["walks"]
    isolated = f" ({graph['isolated']:,} isolated)" if graph["isolated"] else ""
    facts = [
        ("devices", f"{graph['vertices']:,}{isolated}"),
        ("edges", "nobody knows" if graph["edges"] is None else f"{graph['edges']:,}"),
    ]
    if walks["count"]:
        facts.append(("walks", f"{walks['count']:,} of {walks['length']} entries"))
    if decoded := record.get("decoded"):
        share = decoded["expected_edges"] / max(1, decoded["reported_pairs"])
        facts.append(("reported pairs", f"{decoded['reported_pairs']:,}, of which about {share:.0%} are edges"))
        if share < FEW_EDGES:
            facts.append(("", "with so few the vectors tell little: a larger epsilon tells more (docs/privacy.md)"))
    if record["protocol"] == "paper":
        hops = f"{walks['hops_per_walk']:.3f} (expected {walks['expected_hops_per_walk']:.3f})"
        epsilon = f"{record['nominal_epsilon']:g}, a noise scale and no guarantee: the privacy loss is unbounded"
        facts += [("hops per walk", hops), ("nominal epsilon", epsilon)]
    memory = record["peak_rss_bytes"]
    peak = f", {bytes_text(memory)} of memory at most" if memory else ""
    return [*facts, ("time", f"{record['seconds']['total']:.1f} s{peak}")]


def score_texts(score: Any) -> list[str]:
    """Micro- and macro-F1 with their spreads."""
    return [
        f"{score.micro_f1:.4f} ± {score.micro_f1_std:.4f}",
        f"{score.macro_f1:.4f} ± {score.macro_f1_std:.4f}",
    ]


def loss_texts(loss: dict[str, float]) -> list[str]:
    """What was lost of each, absolute and relative."""
    return [f"{loss[name]:+.4f} ({loss[f'{name}_relative']:+.1%})" for name in ("micro_f1", "macro_f1")]
