"""A wire that somebody listens to, or cuts: whoever connects is connected to another address."""

import socket
import threading
from contextlib import suppress


class Forwarder:
    """Listens on loopback while the block lasts, and keeps every byte of both directions.

    A connection with more than `most` bytes of answers is cut, and the last of them is lost. While `is_cut` no
    connection gets through.
    """

    def __init__(self, target: str, most: float = float("inf")) -> None:
        host, port = target.rsplit(":", 1)
        self._target, self._most = (host, int(port)), most
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self.address = f"127.0.0.1:{self._listening.getsockname()[1]}"
        self.sent, self.answered = bytearray(), bytearray()
        self.is_cut = False

    def __enter__(self) -> "Forwarder":
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for one in (self._listening, *self._open):
            one.close()

    def cut(self) -> None:
        """Break all connections, and let none through until `is_cut` is taken back."""
        self.is_cut = True
        for one in self._open:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                caller, _ = self._listening.accept()
            except OSError:
                return
            if self.is_cut:
                caller.close()
                continue
            try:
                called = socket.create_connection(self._target)
            except OSError:
                caller.close()
                continue
            self._open += [caller, called]
            ways = (caller, called, self.sent, float("inf")), (called, caller, self.answered, self._most)
            for way in ways:
                threading.Thread(target=_pump, args=way, daemon=True).start()


def _pump(source: socket.socket, sink: socket.socket, heard: bytearray, most: float) -> None:
    count = 0
    try:
        while (data := source.recv(1 << 16)) and (count := count + len(data)) <= most:
            heard += data
            sink.sendall(data)
        for one in (source, sink):
            one.shutdown(socket.SHUT_RDWR)
    except OSError:
        return
