"""Ctrl-C that can't get lost.

Python can't raise out of a destructor: a KeyboardInterrupt that falls into one is printed and dropped, and the run goes
on. numba runs thousands of them while it loads kernels. So an interrupt waits until the destructor is done.
"""

import signal
import threading
from types import FrameType


class Interrupts:
    """Raises KeyboardInterrupt at once where that is possible, else at the next `check`."""

    def __init__(self) -> None:
        self._came = False
        self._watching = False

    def watch(self) -> None:
        """Take the place of Python's own handler, if that is in charge."""
        usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if usual and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, self._handle)
            self._watching = True

    def unwatch(self) -> None:
        """Give the place back."""
        if self._watching:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            self._watching = False

    def check(self) -> None:
        """Raise the interrupt that came, if one did."""
        if self._came:
            raise KeyboardInterrupt

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self._came = True
        while frame is not None:
            if frame.f_code.co_name == "__del__":
                return
            frame = frame.f_back
        raise KeyboardInterrupt
