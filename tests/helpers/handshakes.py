"""Two parties with credentials meet over loopback, by Python's ssl and by gRPC: does each accept the other?"""

import socket
import ssl
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import grpc

from fedwalk.federation.membership.keys import Credentials

TIMEOUT = 20.0
"""Seconds after which a handshake counts as failed."""


class RefusedError(Exception):
    """One of the two refused the other."""


@dataclass(frozen=True)
class Trusting:
    """A client that knows the authority but has no certificate."""

    authority: bytes


Client = Credentials | Trusting


def meet_by_ssl(server: Credentials, client: Client, expected: str, *, mutual: bool = True) -> str | None:
    """The name in the client's certificate, as the server verified it; `expected` is what the client looks for."""
    with TemporaryDirectory() as folder:
        serving = _context(ssl.PROTOCOL_TLS_SERVER, server, Path(folder))
        serving.verify_mode = ssl.CERT_REQUIRED if mutual else ssl.CERT_NONE
        return meet_in_contexts(serving, _context(ssl.PROTOCOL_TLS_CLIENT, client, Path(folder)), expected)


def meet_in_contexts(serving: ssl.SSLContext, calling: ssl.SSLContext, expected: str) -> str | None:
    """The same for two contexts, such as those of the real server and holder."""
    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor(1) as pool:
        listening.settimeout(TIMEOUT)
        seen = pool.submit(_serve, listening, serving)
        try:
            _greet(listening.getsockname()[1], calling, expected)
        except (ssl.SSLError, ConnectionError) as error:
            raise RefusedError(f"client: {error}; server: {seen.exception(TIMEOUT)}") from error
        return seen.result(TIMEOUT)


def meet_by_grpc(server: Credentials, client: Client, expected: str, *, mutual: bool = True) -> str | None:
    """The same between a gRPC server and channel, as the peers use them."""

    def who(_: bytes, context: Any) -> bytes:
        name: bytes = context.auth_context().get("x509_common_name", [b""])[0]
        return name

    handler = grpc.method_handlers_generic_handler("test", {"who": grpc.unary_unary_rpc_method_handler(who)})
    endpoint = grpc.server(ThreadPoolExecutor(1), handlers=(handler,))
    pair, roots = [(server.key, server.certificate)], server.authority if mutual else None
    port = endpoint.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials(pair, roots, mutual))
    own = (client.key, client.certificate) if isinstance(client, Credentials) else (None, None)
    credentials = grpc.ssl_channel_credentials(client.authority, *own)
    options = [("grpc.ssl_target_name_override", expected), ("grpc.enable_retries", 0)]
    endpoint.start()
    try:
        with grpc.secure_channel(f"127.0.0.1:{port}", credentials, options) as channel:
            answer: bytes = channel.unary_unary("/test/who")(b"", timeout=TIMEOUT)
            return answer.decode() or None
    except grpc.RpcError as error:
        if error.code() is not grpc.StatusCode.UNAVAILABLE:
            raise
        raise RefusedError(error.details()) from error
    finally:
        endpoint.stop(None).wait()


def _context(side: int, party: Client, folder: Path) -> ssl.SSLContext:
    """Strict verification, which is the default in later versions of Python."""
    context = ssl.SSLContext(side)
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    context.load_verify_locations(cadata=party.authority.decode())
    if isinstance(party, Credentials):
        file = folder / str(int(side))
        file.write_bytes(party.key + party.certificate)
        context.load_cert_chain(file)
    return context


def _serve(listening: socket.socket, context: ssl.SSLContext) -> str | None:
    """Answer one caller whose certificate is accepted."""
    raw, _ = listening.accept()
    raw.settimeout(TIMEOUT)
    with raw, context.wrap_socket(raw, server_side=True) as connection:
        connection.sendall(b"hello")
        subject: Any = (connection.getpeercert() or {}).get("subject", ())
    return next((value for ((key, value),) in subject if key == "commonName"), None)


def _greet(port: int, context: ssl.SSLContext, expected: str) -> None:
    """Raise unless the server sends its greeting. In TLS 1.3 a client learns only then whether it was refused."""
    with (
        socket.create_connection(("127.0.0.1", port), TIMEOUT) as raw,
        context.wrap_socket(raw, server_hostname=expected) as connection,
    ):
        if connection.recv(5) != b"hello":
            raise ConnectionError("the server closed the connection")
