"""Progress output, and interrupts that arrive while it is shown."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from rich.cells import cell_len

from fedwalk.cli.show import StageBars, print_facts, print_table
from fedwalk.util.signals import interruptible
from fedwalk.util.text import bytes_text


class Interrupted:
    """Is interrupted in its destructor, where Python would only print the error and continue."""

    finished = False
    number = signal.SIGINT

    def __del__(self) -> None:
        signal.raise_signal(self.number)
        Interrupted.finished = True


def interrupt_in_destructor(go_on: Callable[[str, int, int], object]) -> None:
    Interrupted.finished = False
    Interrupted()
    go_on("walks", 1, 2)


@pytest.fixture
def _usual_handler() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_a_finished_stage_is_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    with StageBars("title [of] a run") as bars:
        for done, total in ((0, 1), (50, 100), (100, 100), (1, 1), (1, 1)):
            bars("walks", done, total)
    title, line = capsys.readouterr().err.splitlines()
    assert title == "title [of] a run"
    assert line.split()[::2] == ["walks", "s"]


def test_the_times_of_stages_with_long_names_are_below_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    with StageBars() as bars:
        for stage in ("reports", "posterior_power"):
            bars(stage, 1, 1)
    short, long = capsys.readouterr().err.splitlines()
    assert len(short) == len(long)


def test_a_long_stage_prints_its_progress_without_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr("fedwalk.cli.show.time.perf_counter", lambda: now[0])
    bars = StageBars()
    for second, done in ((0, 0), (30, 1), (90, 3), (100, 4)):
        now[0] = second
        bars("trials", done, 12)
    lines = capsys.readouterr().err.splitlines()
    assert [" ".join(line.split()) for line in lines] == ["trials 90.0 s, 25% done, about 4 min left"]


@pytest.mark.usefixtures("_usual_handler")
def test_an_interrupt_in_a_destructor_is_deferred_until_it_returns() -> None:
    with StageBars() as bars, pytest.raises(KeyboardInterrupt):
        interrupt_in_destructor(bars)
    assert Interrupted.finished
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("_usual_handler")
def test_an_interrupt_in_a_destructor_is_repeated_without_a_progress_call() -> None:
    with StageBars(), pytest.raises(KeyboardInterrupt):
        interrupt_in_destructor(lambda *news: threading.Event().wait(60))


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
@pytest.mark.usefixtures("_usual_handler")
def test_sigterm_in_a_destructor_is_repeated_while_interrupts_are_ignored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Interrupted, "number", signal.SIGTERM)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with interruptible():
        with StageBars(), pytest.raises(KeyboardInterrupt):
            interrupt_in_destructor(lambda *news: threading.Event().wait(60))
        assert Interrupted.finished
        assert signal.getsignal(signal.SIGTERM) is signal.default_int_handler


@pytest.mark.usefixtures("_usual_handler")
def test_an_interrupt_anywhere_else_is_raised_at_once() -> None:
    with StageBars(), pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


@pytest.mark.usefixtures("_usual_handler")
def test_ignored_interrupts_and_other_threads_are_left_unchanged() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with StageBars() as bars:
        signal.raise_signal(signal.SIGINT)
        bars("walks", 1, 2)
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: StageBars().__enter__().__exit__(None, None, None)).result()


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (2.5e9, "2.5 GB"), (3e15, "3000.0 TB")]
)
def test_sizes_are_written_for_a_person(count: float, text: str) -> None:
    assert bytes_text(count) == text


TABLES = {
    "messages": (
        ["phase", "messages", "bytes", "route"],
        [["plan", "60", "4.3 kB", "server → device"], ["dictionary", "1,686", "337.0 kB", "device → device"]],
    ),
    "ledger": (
        ["release", "times", "unit", "epsilon", "per edge"],
        [
            ["degree vector", "1", "one neighbour list entry", "2 (nominal)", "4 (nominal)"],
            ["tree and encoder table", "3,200", "one edge", "unbounded", "unbounded"],
        ],
    ),
    "scores": (["train ratio", "micro-F1", "macro-F1"], [["0.5", "0.4333 ± 0.0333", "0.3019 ± 0.0162"]]),
    "datasets": (
        ["name", "vertices", "edges", "labels", "", "source"],
        [["youtube", "1,138,499", "2,990,443", "47", "downloaded", "Grover & Leskovec, KDD 2016"]],
    ),
    "audit": (
        ["attack", "observer", "success", "baseline"],
        [
            ["dissimilarity", "network", "100% of edges, 51.9% right", "12.9% of edges, 12.9% right"],
            ["links", "", "–", ""],
        ],
    ),
    "holders": (
        ["name", "devices", "address", "state", "certificate"],
        [["clinic", "1,200", "a-very-long-name.clinic.example.org:7443", "online", "valid for 364 days"]],
    ),
    "empty": (["name", "devices"], []),
}


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120])
@pytest.mark.parametrize("name", TABLES)
def test_no_cell_of_a_table_is_cut_off(
    name: str, width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    header, rows = TABLES[name]
    print_table("A title", header, rows, "a footer")
    out = capsys.readouterr().out
    assert "…" not in out
    assert all(cell_len(line) <= width for line in out.splitlines())
    # Wrapping may move a word to another line, and cut one only if it is wider than the terminal.
    shown = "".join(out.split())
    for cell in (cell for row in rows for cell in row):
        assert all(word in shown for word in cell.split() if cell_len(word) <= width - 12)


def test_numbers_are_in_one_piece_and_blocks_name_their_columns(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    print_table("Scores", *TABLES["scores"])
    assert "0.4333 ± 0.0333  0.3019 ± 0.0162" in capsys.readouterr().out
    print_table("Messages", *TABLES["messages"])
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines[:5] == ["Messages", "plan", "  messages  60", "  bytes     4.3 kB", "  route     server → device"]
    monkeypatch.setenv("COLUMNS", "80")
    print_table("Audit", *TABLES["audit"])
    # A few characters too wide, so that the texts are wrapped, but still a table.
    assert capsys.readouterr().out.splitlines()[1].split() == ["attack", "observer", "success", "baseline"]


def test_a_long_fact_is_continued_and_not_cut_off(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    path = "/home/ann/" + "deep/" * 12
    print_facts("run", [("nominal epsilon", path)])
    assert path in "".join(capsys.readouterr().out.split())
