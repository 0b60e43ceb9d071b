"""Make sure that Ctrl-C always interrupts a command.

Python can't raise an exception out of a destructor: a KeyboardInterrupt inside one is printed and dropped, and the run
continues. numba runs thousands of destructors while it loads kernels, and half-built objects of its compiler fail when
they are destroyed early. So an interrupt that arrives in such code is deferred and sent again a moment later. The same
applies to other signals that are handled as interrupts, such as SIGTERM in a federation.
"""

import _thread
import signal
import threading
from types import FrameType

RETRY_DELAY = 0.05
"""Seconds until a deferred interrupt is sent again."""


class Interrupts:
    """Raises KeyboardInterrupt as soon as it is safe, at the latest at the next `check`."""

    def __init__(self) -> None:
        self._pending = False
        self._watched: list[int] = []
        self._retry: threading.Timer | None = None

    def watch(self) -> None:
        """Replace Python's own handler for every signal that it handles."""
        # Python lets only the main thread set signal handlers.
        if threading.current_thread() is threading.main_thread():
            signals = signal.valid_signals()
            self._watched = [n for n in signals if signal.getsignal(n) is signal.default_int_handler]
            for number in self._watched:
                signal.signal(number, self._handle)

    def unwatch(self) -> None:
        """Restore Python's own handlers."""
        if self._retry is not None:
            self._retry.cancel()
        for number in self._watched:
            signal.signal(number, signal.default_int_handler)
        self._watched = []

    def check(self) -> None:
        """Raise KeyboardInterrupt if an interrupt has arrived."""
        if self._pending:
            raise KeyboardInterrupt

    def _handle(self, number: int, frame: FrameType | None) -> None:
        # Remembered for `check`, because the exception raised here may be lost, as in a destructor.
        self._pending = True
        if not _is_unsafe(frame):
            raise KeyboardInterrupt
        self._retry = threading.Timer(RETRY_DELAY, _interrupt, [number])
        # A timer that is still waiting must not keep the process alive.
        self._retry.daemon = True
        self._retry.start()


def _interrupt(number: int) -> None:
    """Interrupt the main thread with the signal that arrived; the process may ignore other signals.

    A real signal, where the system has them, also ends the main thread's waiting for other threads.
    """
    main = threading.main_thread().ident
    if hasattr(signal, "pthread_kill") and main is not None:
        signal.pthread_kill(main, number)
    else:
        _thread.interrupt_main(signal.Signals(number))


def _is_unsafe(frame: FrameType | None) -> bool:
    """Whether the program is inside a destructor or llvmlite, the bindings of numba's compiler."""
    while frame is not None:
        if frame.f_code.co_name == "__del__" or str(frame.f_globals.get("__name__")).startswith("llvmlite."):
            return True
        frame = frame.f_back
    return False
