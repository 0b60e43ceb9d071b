"""A holder's port: limits connections before they reach gRPC.

gRPC for Python can't limit connections: it accepts them until the process has no file descriptor left. So this module
accepts them, counts them (`connection_limits`) and copies their bytes in both directions, unchanged, to the gRPC server
behind it, which listens on a Unix socket in a folder that only this user can enter. TLS ends in gRPC, not here.

gRPC tells its handlers the address of a connection's other end. Each connection to the Unix socket comes from its own
path, so that this address identifies the connection (`unix:/…/17`), and a handler that has checked the caller's
certificate can mark it as authenticated. A connection that isn't authenticated in time is dropped. A connection that
sends nothing never reaches gRPC.
"""

import asyncio
import errno
import os
import socket
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from shutil import rmtree
from typing import Any

from fedwalk.errors import SettingsError
from fedwalk.federation.wire.connection_limits import (
    NOT_AUTHENTICATED,
    TOO_MANY_PER_PARTY,
    TOO_MANY_UNKNOWN,
    ConnectionLimits,
)
from fedwalk.federation.wire.descriptors import RESERVE

AUTHENTICATION_TIMEOUT = 10.0
"""Seconds that a connection has for its TLS handshake and its first call."""
MAX_UNKNOWN, MAX_UNKNOWN_PER_ADDRESS = 128, 32
"""Connections that aren't authenticated. Each takes three file descriptors: the accepted one, and two to gRPC."""
MAX_PER_HOLDER = 4
"""Connections of one authenticated holder. It needs only one, but old ones may be left over from a broken network."""
CLOSE_TIMEOUT = 5.0
"""Seconds to send the remaining bytes after the other end has closed the connection."""
BIND_PAUSE = 0.1
"""Seconds between two attempts to listen at an address that is in use."""
MAX_PATH = 90
"""Bytes of a Unix socket's path; the operating system allows about a hundred."""


def holder_limits() -> ConnectionLimits:
    """Limits for a holder's port."""
    return ConnectionLimits(MAX_UNKNOWN, MAX_UNKNOWN_PER_ADDRESS, MAX_PER_HOLDER)


def holder_descriptors(others: int) -> int:
    """The maximum number of file descriptors that a walk phase with this many other holders needs."""
    # Beside the connections that each of them makes, there is one that this holder makes to it.
    return 3 * MAX_UNKNOWN + (3 * MAX_PER_HOLDER + 1) * others + RESERVE


class HolderPort:
    """Accepts connections within limits and passes them on to a Unix socket.

    Parameters
    ----------
    on_drop
        Called with the reason for each connection that is dropped.
    limits
        Counts the connections, known by their numbers.
    """

    def __init__(self, on_drop: Callable[[str], None], limits: ConnectionLimits | None = None) -> None:
        self.limits = holder_limits() if limits is None else limits
        self.folder = _private_folder()
        self._on_drop = on_drop
        self._connections: dict[int, _Connection] = {}
        self._accepted = 0
        self._listening: asyncio.Server | None = None
        self._empty = asyncio.Event()
        self._empty.set()

    @property
    def inner(self) -> str:
        """The path of the Unix socket where the gRPC server has to listen."""
        return str(self.folder / "grpc")

    async def open(self, listen: str, timeout: float) -> None:
        """Listen at host:port; while an earlier process of this holder still does, wait up to `timeout` seconds."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + timeout
        while not await self._bound(listen):
            if clock() > deadline:
                raise SettingsError(
                    f"listen = {listen!r}: another process listens there. Stop it, or use another port."
                )
            await asyncio.sleep(BIND_PAUSE)

    async def _bound(self, listen: str) -> bool:
        """Try to listen; returns False if the address is in use, raises SettingsError if it can't be used at all."""
        host, _, port = listen.rpartition(":")
        # For asyncio "::" means IPv6 alone; None means all addresses of both IPv4 and IPv6.
        name = None if host in ("", "[::]") else host.strip("[]")
        loop = asyncio.get_running_loop()
        try:
            self._listening = await loop.create_server(lambda: _Connection(self), name, int(port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return False
            raise SettingsError(f"listen = {listen!r}: can't listen there: {error.strerror}. Use host:port.") from error
        except (ValueError, OverflowError) as error:
            text = f"listen = {listen!r}: can't listen there: the port must be from 0 to 65535. Use host:port."
            raise SettingsError(text) from error
        return True

    def authenticated(self, peer: str, holder: str) -> None:
        """Mark the connection that gRPC calls `peer` as this holder's."""
        self._drop(self.limits.authenticated(_number(peer), holder), TOO_MANY_PER_PARTY)

    def drop(self, peer: str) -> None:
        """Close the connection that gRPC calls `peer` at once."""
        self._abort(_number(peer))

    def stop_accepting(self) -> None:
        """Accept no new connections; open ones stay open."""
        if self._listening is not None:
            self._listening.close()

    async def close(self, timeout: float) -> None:
        """Wait up to `timeout` seconds for the gRPC server to close its connections, then close the rest."""
        self.stop_accepting()
        # Connections that aren't authenticated have no call that is worth waiting for.
        for number in filter(self.limits.is_unknown, list(self._connections)):
            self._abort(number)
        with suppress(TimeoutError):
            await asyncio.wait_for(self._empty.wait(), timeout)
        for number in list(self._connections):
            self._abort(number)
        # `abort` only schedules the closing; the folder with the sockets must outlive the connections.
        await self._empty.wait()
        rmtree(self.folder, ignore_errors=True)

    def opened(self, connection: "_Connection", address: str) -> int:
        """Count a new connection; returns its number."""
        # Numbers begin at 1, because `_number` returns 0 for what isn't a connection.
        self._accepted += 1
        number = self._accepted
        self._connections[number] = connection
        self._empty.clear()
        self._drop(self.limits.opened(number, address), TOO_MANY_UNKNOWN)
        return number

    def expire(self, number: int) -> None:
        """Drop a connection that isn't authenticated by now."""
        if self.limits.is_unknown(number):
            self._drop([number], NOT_AUTHENTICATED)

    def closed(self, number: int) -> None:
        """Remove a connection that has closed."""
        self.limits.closed(number)
        self._connections.pop(number, None)
        if not self._connections:
            self._empty.set()

    def _drop(self, numbers: list[Any], reason: str) -> None:
        for number in numbers:
            self._on_drop(reason)
            self._abort(number)

    def _abort(self, number: int) -> None:
        if number in self._connections:
            self._connections[number].abort()


class _Half(asyncio.Protocol):
    """One half of a forwarded connection: writes what it receives to the other half, with flow control."""

    transport: asyncio.Transport | None = None
    other: "_Half | None" = None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.write(data)

    # asyncio calls this when the buffer to this end is full. If the other half read on, memory use would be unbounded.
    def pause_writing(self) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.resume_reading()

    def connection_lost(self, error: Exception | None) -> None:
        self.transport = None
        if self.other is not None:
            self.other.finish()

    def finish(self) -> None:
        """Close when the buffered bytes are sent, or after CLOSE_TIMEOUT seconds."""
        if self.transport is not None:
            self.transport.close()
            # `close` waits until the buffer is sent, so an end that no longer reads would stay open.
            asyncio.get_running_loop().call_later(CLOSE_TIMEOUT, self.abort)

    def abort(self) -> None:
        """Close at once."""
        if self.transport is not None:
            self.transport.abort()


class _Connection(_Half):
    """An accepted connection, and its forwarding to the gRPC server."""

    def __init__(self, port: HolderPort) -> None:
        self._port, self._number, self._early = port, 0, b""
        self._timer: asyncio.TimerHandle | None = None
        self._connecting: asyncio.Task[None] | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        # The peername is None if the other end has closed already.
        address = (transport.get_extra_info("peername") or ("",))[0]
        self._number = self._port.opened(self, address)
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(AUTHENTICATION_TIMEOUT, self._port.expire, self._number)

    def data_received(self, data: bytes) -> None:
        # The connection to gRPC is only made when the first bytes arrive. They are kept until it is there.
        if self._connecting is None and self.transport is not None:
            self._early = data
            self.transport.pause_reading()
            self._connecting = asyncio.get_running_loop().create_task(self._connect(self.transport))
        else:
            super().data_received(data)

    async def _connect(self, transport: asyncio.Transport) -> None:
        """Connect to the gRPC server from a path that identifies this connection."""
        loop, path = asyncio.get_running_loop(), self._port.folder / str(self._number)
        inner = socket.socket(socket.AF_UNIX)
        try:
            inner.setblocking(False)
            # gRPC reports the path that this end is bound to as the caller's address (`context.peer()`).
            inner.bind(str(path))
            await loop.sock_connect(inner, self._port.inner)
            half = _Half()
            self.other, half.other = half, self
            await loop.create_unix_connection(lambda: half, sock=inner)
        except OSError:
            inner.close()
            self.abort()
        # `connection_lost` cancels this task.
        except asyncio.CancelledError:
            inner.close()
            raise
        else:
            # In this order: writing may fill the other half's buffer, which pauses reading again.
            transport.resume_reading()
            super().data_received(self._early)
        finally:
            # The connection keeps its address when the file is gone.
            path.unlink(missing_ok=True)

    def connection_lost(self, error: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._connecting is not None:
            self._connecting.cancel()
        super().connection_lost(error)
        self._port.closed(self._number)

    def abort(self) -> None:
        """Close both halves at once."""
        super().abort()
        if self.other is not None:
            self.other.abort()


def _private_folder() -> Path:
    """Create a folder that only this user can enter, with a path that is short enough for Unix sockets."""
    # 30 bytes for what follows: "/fedwalk-", eight random characters, "/" and a connection's number.
    usual = tempfile.gettempdir()
    return Path(tempfile.mkdtemp(prefix="fedwalk-", dir=usual if len(os.fsencode(usual)) < MAX_PATH - 30 else "/tmp"))


def _number(peer: str) -> int:
    """The number in gRPC's name of a connection; 0, which no connection has, if the name isn't from `_connect`.

    Examples
    --------
    >>> _number("unix:/tmp/fedwalk-1a2b/17"), _number("ipv4:127.0.0.1:4711"), _number("unix:")
    (17, 0, 0)
    """
    kind, _, path = peer.partition(":")
    last = path.rpartition("/")[2]
    return int(last) if kind == "unix" and last.isdecimal() else 0
