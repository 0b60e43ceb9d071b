"""Terminal output: progress bars on standard error, tables and JSON on standard output."""

import json
import time
from collections.abc import Iterable, Sequence, Set
from types import TracebackType
from typing import Any, Literal

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
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

from fedwalk.cli.interrupts import Interrupts
from fedwalk.privacy.ledger import or_unbounded
from fedwalk.protocols.value_checks import RESERVED_STAGES
from fedwalk.run.record import RunRecord, facts_of
from fedwalk.util.text import bytes_text, counted, epsilon_text, listed, mean_text, sentence

COLUMN_GAP = 2
MIN_WRAPPED = 24
"""Cells of up to this width are never wrapped, except in the first column: "0.4333 ± 0.0333" stays in one piece."""
SECONDS_BETWEEN_LINES = 60.0
"""How often a long stage prints a line if standard error isn't a terminal."""


class StageBars:
    """Shows the progress of stages: a bar per stage on a terminal, elsewhere a line per finished stage.

    Elsewhere, a long stage also prints a line every SECONDS_BETWEEN_LINES. Call it with (stage, done, total).
    `computed` has the stages that began, unlike those that were finished before a run was resumed.
    """

    def __init__(self, title: str = "") -> None:
        self._console = Console(stderr=True)
        self._title = title
        self._started: dict[str, float] = {}
        self.computed: set[str] = set()
        self._finished: set[str] = set()
        self._interrupts = Interrupts()
        self._tasks: dict[str, TaskID] = {}
        self._last_line = time.perf_counter()
        self._bars = Progress(
            TextColumn("{task.description:<15}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn(),
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
        # Compiled code can't be interrupted; its next progress call is where a pending Ctrl-C takes effect.
        self._interrupts.check()
        if done == 0:
            # A stage that was finished before is announced only as done.
            self.computed.add(stage)
        if stage not in self._started:
            self._started[stage] = time.perf_counter()
            self._tasks[stage] = self._bars.add_task(stage, total=total)
        self._bars.update(self._tasks[stage], completed=done, total=total)
        seconds = time.perf_counter() - self._started[stage]
        # A stage reports (1, 1) when it is finished, after its own count of steps.
        if (done, total) == (1, 1) and stage not in self._finished:
            self._finished.add(stage)
            self._print_line(f"  {stage:<15} {seconds:7.1f} s")
        elif 0 < done < total and time.perf_counter() - self._last_line >= SECONDS_BETWEEN_LINES:
            left = seconds * (total - done) / done
            self._print_line(f"  {stage:<15} {seconds:7.1f} s, {done / total:.0%} done, about {left / 60:.0f} min left")

    def _print_line(self, line: str) -> None:
        """Print a line, unless bars are shown."""
        self._last_line = time.perf_counter()
        if not self._console.is_terminal:
            self._console.print(line, highlight=False)


def print_table(title: str, header: list[str], rows: list[list[str]], footer: str = "") -> None:
    """Print a table on standard output: the first column is aligned left, the others right.

    Long texts are wrapped between words. On a terminal that is too narrow even then, every row becomes a block of
    lines, so that no cell is cut off.
    """
    console = _plain_console()
    console.print(title, style="bold", highlight=False)
    columns = list(zip(header, *rows, strict=True))
    # The first column has text; in the others a number must stay in one piece.
    least = [_min_width(column, 0 if i == 0 else MIN_WRAPPED) for i, column in enumerate(columns)]
    if sum(least) + COLUMN_GAP * (len(least) - 1) <= console.width:
        table = Table(box=None, pad_edge=False, padding=(0, COLUMN_GAP, 0, 0))
        for i, (name, width) in enumerate(zip(header, least, strict=True)):
            whole = width == max(map(cell_len, columns[i]))
            side: Literal["left", "right"] = "left" if i == 0 else "right"
            table.add_column(name, justify=side, header_style="dim", no_wrap=whole, min_width=width)
        for row in rows:
            table.add_row(*row)
        console.print(table)
    else:
        for first, *others in rows:
            console.print(first, highlight=False)
            console.print(Padding(_grid(zip(header[1:], others, strict=True)), (0, 0, 0, COLUMN_GAP)))
    if footer:
        console.print(footer, highlight=False, style="dim")
    console.print()


def _min_width(cells: Sequence[str], at_least: int) -> int:
    """The width that a column needs if cells wider than `at_least` are wrapped between words."""
    words = (cell_len(word) for cell in cells for word in (cell.split() if cell_len(cell) > at_least else [cell]))
    return max(max(words), min(at_least, max(map(cell_len, cells))))


def _grid(facts: Iterable[tuple[str, str]]) -> Table:
    """Names and values in two columns; long values are wrapped."""
    grid = Table.grid(padding=(0, COLUMN_GAP, 0, 0))
    for _ in range(2):
        # A single word that is wider than the terminal, such as a path, is continued on the next line.
        grid.add_column(overflow="fold")
    for name, value in facts:
        grid.add_row(name, value)
    return grid


def _plain_console() -> Console:
    """A console that prints text literally: paths and names may contain brackets, which rich takes for markup."""
    return Console(markup=False, emoji=False)


def print_facts(title: str, facts: list[tuple[str, str]]) -> None:
    """Print names and values in two columns."""
    console = _plain_console()
    console.print(title, style="bold", highlight=False)
    console.print(_grid(facts))
    console.print()


def print_json(value: object) -> None:
    """Print a value as JSON on standard output."""
    print(json.dumps(value, indent=2, ensure_ascii=False))


def resumed_text(record: RunRecord, computed: Set[str]) -> str:
    """What a resumed run took over from earlier attempts, and what it computed."""
    stages = [name for name in record.seconds if name not in RESERVED_STAGES]
    before = [name for name in stages if name not in computed]
    now = [name for name in stages if name in computed]
    if not now:
        return "Nothing to compute: the run was finished before."
    if not before:
        return "Nothing was finished before: all stages were computed now."
    was, were = (f"{listed(names)} {'was' if len(names) == 1 else 'were'}" for names in (before, now))
    return f"Resumed: {was} finished before; {were} computed now."


def message_rows(record: RunRecord) -> list[list[str]]:
    """One row per phase that sent messages: their number, bytes and route. run.json also names their observers."""
    return [
        [phase, f"{entry.count:,}", bytes_text(entry.bytes), entry.route]
        for phase, entry in record.messages.traffic.items()
        if entry.count
    ]


def print_messages(record: RunRecord) -> None:
    """Print the table of messages, if any were sent."""
    if rows := message_rows(record):
        print_table("Messages", ["phase", "messages", "bytes", "route"], rows)


def print_ledger(record: RunRecord) -> None:
    """Print the privacy ledger: every release, its cost, and the total."""
    ledger = record.ledger
    releases = ledger.releases.values()
    rows = [
        [release.what, f"{release.times:,}", release.unit, epsilon_text(or_unbounded(release.epsilon), release.nominal),
         epsilon_text(or_unbounded(release.per_edge), release.nominal)]
        for release in releases
    ]  # fmt: skip
    budget = f" of a budget of {ledger.budget:g}" if ledger.budget is not None else ""
    edge, device = (
        epsilon_text(or_unbounded(ledger.per_edge)),
        epsilon_text(or_unbounded(ledger.per_device)),
    )
    total = f"Total: {edge} per edge{budget}, {device} per device (one entry of its neighbour list). "
    # Two releases can have the same reason, which is printed once.
    reasons = dict.fromkeys(f"{sentence(release.what)}, by {release.by}: {release.why}." for release in releases)
    header = ["release", "times", "unit", "epsilon", "per edge"]
    print_table("Privacy ledger", header, rows, "\n".join([*reasons, total + sentence(record.privacy)]))


def run_facts(record: RunRecord) -> list[tuple[str, str]]:
    """The most important facts about a run, as names and values."""
    graph, walks = record.graph, record.walks
    isolated = f" ({graph.isolated:,} isolated)" if graph.isolated else ""
    facts = [("devices", f"{graph.vertices:,}{isolated}"), ("edges", _edges(record))]
    if walks.count:
        facts.append(("walks", f"{walks.count:,} of {counted(walks.length, 'entry', 'entries')}"))
    for fact in facts_of(record):
        facts += [(fact.name, fact.text), *([("", fact.note)] if fact.note else [])]
    if walks.expected_hops_per_walk is not None and walks.count:
        facts.append(("hops per walk", f"{walks.hops_per_walk:.3f} (expected {walks.expected_hops_per_walk:.3f})"))
    if record.nominal_epsilon is not None:
        loss = ": the privacy loss is unbounded" if record.epsilon is None else ""
        facts.append(("nominal epsilon", f"{record.nominal_epsilon:g}, a noise scale, not a guarantee{loss}"))
    peak = f", peak memory {bytes_text(record.peak_rss_bytes)}" if record.peak_rss_bytes else ""
    return [*facts, ("time", f"{record.seconds['total']:.1f} s{peak}")]


def _edges(record: RunRecord) -> str:
    """The number of edges; for a federated run, whose server isn't told it, which parties know the edges."""
    if record.graph.edges is not None:
        return f"{record.graph.edges:,}"
    if record.epsilon is None:
        return "each holder knows its own; not hidden from the server (see the ledger)"
    reports = f"noisy reports (epsilon = {record.epsilon:g} per edge), from which it can guess many of them"
    return f"each holder knows its own; the server gets {reports}"


def score_texts(score: Any) -> list[str]:
    """Micro- and macro-F1 with their standard deviations."""
    return [mean_text(score.micro_f1, score.micro_f1_std), mean_text(score.macro_f1, score.macro_f1_std)]


def loss_texts(loss: dict[str, float]) -> list[str]:
    """The loss of micro- and macro-F1, absolute and relative."""
    return [f"{loss[name]:+.4f} ({loss[f'{name}_relative']:+.1%})" for name in ("micro_f1", "macro_f1")]
