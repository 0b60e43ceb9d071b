"""What a person sees while waiting, and the interrupt that must not get lost meanwhile."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from fedwalk.cli.show import StageBars
from fedwalk.signals import interruptible
from fedwalk.words import bytes_text


class Interrupted:
    """Is interrupted where Python could only print the error and go on."""

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


def test_a_stage_is_told_of_once_it_is_over(capsys: pytest.CaptureFixture[str]) -> None:
    with StageBars("title [of] a run") as bars:
        for done, total in ((0, 1), (50, 100), (100, 100), (1, 1), (1, 1)):
            bars("walks", done, total)
    title, line = capsys.readouterr().err.splitlines()
    assert title == "title [of] a run"
    assert line.split()[::2] == ["walks", "s"]


def test_a_long_stage_says_how_far_it_is_where_there_is_no_terminal(
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
def test_an_interrupt_in_a_destructor_waits_until_that_is_done() -> None:
    with StageBars() as bars, pytest.raises(KeyboardInterrupt):
        interrupt_in_destructor(bars)
    assert Interrupted.finished
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("_usual_handler")
def test_an_interrupt_in_a_destructor_comes_again_without_a_report() -> None:
    with StageBars(), pytest.raises(KeyboardInterrupt):
        interrupt_in_destructor(lambda *news: threading.Event().wait(60))


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
@pytest.mark.usefixtures("_usual_handler")
def test_a_request_to_end_in_a_destructor_comes_again_where_interrupts_are_ignored(
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
def test_whoever_ignores_interrupts_or_runs_in_a_thread_is_left_alone() -> None:
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
