"""A TCP forwarder that records all bytes and can cut its connections."""

import socket
import threading
from contextlib import suppress


class Forwarder:
    """Listens on loopback during the block, forwards to `target`, and records the bytes of both directions.

    A connection is cut when its answers exceed `max_answered` bytes; the last piece is lost. While `is_cut` is set,
    connections are refused.
    """

    def __init__(self, target: str, max_answered: float = float("inf")) -> None:
        host, port = target.rsplit(":", 1)
        self._target, self._max_answered = (host, int(port)), max_answered
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
        """Break all connections, and refuse new ones until `is_cut` is cleared."""
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
            ways = (caller, called, self.sent, float("inf")), (called, caller, self.answered, self._max_answered)
            for way in ways:
                threading.Thread(target=_pump, args=way, daemon=True).start()


def _pump(source: socket.socket, sink: socket.socket, record: bytearray, max_bytes: float) -> None:
    """Forward one direction until it ends or exceeds its bound."""
    count = 0
    with suppress(OSError):
        while (data := source.recv(1 << 16)) and (count := count + len(data)) <= max_bytes:
            record += data
            sink.sendall(data)
    for one in (source, sink):
        # One end may be gone already; the other must hear of it all the same.
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
