"""Signals that ask a command to stop: SIGTERM and SIGHUP act like Ctrl-C, and child processes are never left behind.

A KeyboardInterrupt can occur between any two statements. `postponed` delays it where it would leave a started process
unrecorded; `undisturbed` ignores further signals while processes are being stopped.
"""

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise KeyboardInterrupt on SIGTERM and SIGHUP during the block, as on Ctrl-C.

    SIGHUP stays ignored if it was, which is how `nohup` works. So does SIGINT, which shells ignore for background jobs
    so that Ctrl-C reaches only the foreground. SIGTERM is always handled: it is sent to this process on purpose.
    """
    handled = [signal.SIGTERM] + [signal.SIGHUP] * (signal.getsignal(signal.SIGHUP) != signal.SIG_IGN)
    with _handling(handled, signal.default_int_handler):
        yield


@contextmanager
def undisturbed() -> Iterator[None]:
    """Ignore signals that ask to stop during the block, which is itself a shutdown."""
    with _handling(STOP_SIGNALS, signal.SIG_IGN):
        yield


@contextmanager
def postponed() -> Iterator[None]:
    """Delay the KeyboardInterrupt of signals that arrive during the block to its end."""
    received: list[int] = []
    handled = [number for number in STOP_SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
    try:
        with _handling(handled, lambda number, frame: received.append(number)):
            yield
    finally:
        if received:
            raise KeyboardInterrupt


@contextmanager
def _handling(signals: Sequence[int], handler: Any) -> Iterator[None]:
    """Install this handler for the signals during the block."""
    # Python allows signal handlers to be set in the main thread only.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in signals}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
