"""Ctrl-C that can't get lost.

Python can't raise out of a destructor: a KeyboardInterrupt that falls into one is printed and dropped, and the run goes
on. numba runs thousands of them while it loads kernels, and half-made objects of its compiler complain when they are
cleared away. So an interrupt that finds the program in there comes again a moment later. The same holds for other
signals that are handled as interrupts.
"""

import _thread
import signal
import threading
from types import FrameType

PATIENCE = 0.05
"""Seconds until an interrupt that came at a bad moment comes again."""


class Interrupts:
    """Raises KeyboardInterrupt as soon as it can be raised, at the latest at the next `check`."""

    def __init__(self) -> None:
        self._came = False
        self._watched: list[int] = []
        self._again: threading.Timer | None = None

    def watch(self) -> None:
        """Take the place of Python's own handler, for each signal that it handles."""
        if threading.current_thread() is threading.main_thread():
            signals = signal.valid_signals()
            self._watched = [n for n in signals if signal.getsignal(n) is signal.default_int_handler]
            for number in self._watched:
                signal.signal(number, self._handle)

    def unwatch(self) -> None:
        """Give the place back."""
        if self._again is not None:
            self._again.cancel()
        for number in self._watched:
            signal.signal(number, signal.default_int_handler)
        self._watched = []

    def check(self) -> None:
        """Raise the interrupt that came, if one did."""
        if self._came:
            raise KeyboardInterrupt

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self._came = True
        if not _delicate(frame):
            raise KeyboardInterrupt
        self._again = threading.Timer(PATIENCE, _interrupt, [number])
        self._again.daemon = True
        self._again.start()


def _interrupt(number: int) -> None:
    """Interrupt the main thread, by a true signal where there is one: that ends its waiting for other threads too.

    It is the signal that came, for another one may be ignored.
    """
    main = threading.main_thread().ident
    if hasattr(signal, "pthread_kill") and main is not None:
        signal.pthread_kill(main, number)
    else:
        _thread.interrupt_main(signal.Signals(number))


def _delicate(frame: FrameType | None) -> bool:
    """Whether the program is in a destructor or in the compiler's bindings."""
    while frame is not None:
        if frame.f_code.co_name == "__del__" or str(frame.f_globals.get("__name__")).startswith("llvmlite."):
            return True
        frame = frame.f_back
    return False
