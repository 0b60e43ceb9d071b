"""The doorkeeper behind a real server on loopback, with Flower's own layers."""

import http.client
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI, Request
from flwr.supercore.error.http import http_error_translator
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware

from doors import ANN, BOB, PULL, START
from fedwalk.federation.doorkeeper import Doorkeeper


def make_app() -> FastAPI:
    """Our doorkeeper in front of what turns everything into an answer, as in Flower's SuperLink."""
    app = FastAPI(
        middleware=[
            Middleware(Doorkeeper, largest_answer=50_000),
            Middleware(BaseHTTPMiddleware, dispatch=http_error_translator),
        ]
    )

    @app.post(PULL)
    @app.post(START)
    async def take(request: Request) -> int:
        return len(await request.body())

    return app


@contextmanager
def served(app: Any) -> Iterator[int]:
    """The app behind a real uvicorn; its port."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off", ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield int(listening.getsockname()[1])
        finally:
            server.should_exit = True
            thread.join()


def post(port: int, path: str, source: str, body: Any = b"", **headers: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20, source_address=(source, 0))
    try:
        connection.request("POST", path, body, headers={k.replace("_", "-"): v for k, v in headers.items()})
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def test_behind_a_real_server() -> None:
    with served(make_app()) as port:
        assert post(port, START, "127.0.0.1") == (200, "0")
        assert post(port, START, "127.0.0.2") == (403, "fedwalk: refused: this API is for the server's own machine\n")
        for trick in ("/v1/fleet/../control/start-run", "//v1/control/start-run", "/v1/fleet%2f..%2fcontrol/start-run"):
            assert post(port, trick, "127.0.0.2")[0] in (403, 404)
        assert post(port, START, "127.0.0.2", x_forwarded_for="127.0.0.1")[0] == 403
        for source in ("127.0.0.1", "127.0.0.2"):
            assert post(port, PULL, source, b"x" * 10_000) == (200, "10000")
        chunks = (b"x" * 10_000 for _ in range(10))
        assert post(port, PULL, "127.0.0.2", chunks) == (413, "fedwalk: refused: larger than this federation allows\n")
        assert announce(port, 10**12) == b"413"
        key = ANN.decode()
        statuses = [post(port, PULL, "127.0.0.2", b"x" * 20_000, flwr_public_key=key)[0] for _ in range(3)]
        assert statuses == [200, 200, 413]
        assert post(port, PULL, "127.0.0.2", b"x" * 20_000, flwr_public_key=BOB.decode()) == (200, "20000")


def announce(port: int, size: int) -> bytes:
    """The status for a body that is announced and never sent."""
    with socket.create_connection(("127.0.0.1", port), timeout=20, source_address=("127.0.0.2", 0)) as connection:
        connection.sendall(f"POST {PULL} HTTP/1.1\r\nHost: x\r\nContent-Length: {size}\r\n\r\n".encode())
        return connection.recv(1000).split()[1]
