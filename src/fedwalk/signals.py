"""Being asked to stop: SIGTERM and a lost terminal count as Ctrl-C, and no signal leaves a process behind.

A KeyboardInterrupt can come between any two steps. Where that would leave a process that no one knows of, the signal is
postponed for a moment (`postponed`); what is being stopped is stopped to the end (`undisturbed`).
"""

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise KeyboardInterrupt on SIGTERM and SIGHUP during the block, as on Ctrl-C.

    SIGHUP that is ignored stays ignored, which is how `nohup` works, and so does SIGINT, which shells ignore in
    background jobs so that Ctrl-C reaches the foreground alone. SIGTERM is meant for this process in any case.
    """
    heeded = [signal.SIGTERM] + [signal.SIGHUP] * (signal.getsignal(signal.SIGHUP) != signal.SIG_IGN)
    with _handling(heeded, signal.default_int_handler):
        yield


@contextmanager
def undisturbed() -> Iterator[None]:
    """Ignore signals that ask to stop, while something is being stopped."""
    with _handling(STOPPING, signal.SIG_IGN):
        yield


@contextmanager
def postponed() -> Iterator[None]:
    """Raise KeyboardInterrupt only at the end of the block if a signal asks to stop during it."""
    came: list[int] = []
    heeded = [number for number in STOPPING if signal.getsignal(number) != signal.SIG_IGN]
    try:
        with _handling(heeded, lambda number, frame: came.append(number)):
            yield
    finally:
        if came:
            raise KeyboardInterrupt


@contextmanager
def _handling(signals: Sequence[int], handler: Any) -> Iterator[None]:
    """Handle these signals so for the block; only the main thread can set that."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in signals}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
