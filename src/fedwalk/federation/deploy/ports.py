"""Checks whether a port of this machine is free."""

import socket


def is_free(address: str) -> bool:
    """Whether a process could listen at this HOST:PORT of this machine."""
    return _bind(address) is not None


def free_port() -> int:
    """A port of the loopback interface that is free at this moment; another process may take it before it is used."""
    port = _bind("127.0.0.1:0")
    assert port is not None
    return port


def _bind(address: str) -> int | None:
    """Bind a socket to an address for a moment: the port, chosen by the system for port 0, or None if it is in use."""
    host, _, port = address.rpartition(":")
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        if int(port):
            # Connections that were closed a moment ago don't keep a server from listening again.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host.strip("[]"), int(port)))
        except OSError:
            return None
        return int(probe.getsockname()[1])
