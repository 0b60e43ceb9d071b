"""A website on this machine, so that tests can make real downloads."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.io import savemat

from fedwalk.graph.datasets import Dataset


@dataclass
class Website:
    """Pages by path, the surplus of bytes that each one announces, and the requested paths."""

    address: str = ""
    pages: dict[str, bytes] = field(default_factory=dict)
    missing: dict[str, int] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)


@contextmanager
def website() -> Iterator[Website]:
    """Serve until the end of the block."""
    site = Website()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.asked.append(self.path)
            if self.path not in site.pages:
                self.send_error(404)
                return
            page = site.pages[self.path]
            self.send_response(200)
            self.send_header("Content-Length", str(len(page) + site.missing.get(self.path, 0)))
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        site.address = f"http://127.0.0.1:{server.server_port}"
        try:
            yield site
        finally:
            server.shutdown()
            thread.join()


def ring(folder: Path, vertices: int) -> bytes:
    """A `.mat` file: a ring with two labels."""
    links = sparse.coo_array((np.ones(vertices), (np.arange(vertices), (np.arange(vertices) + 1) % vertices)))
    group = sparse.coo_array((np.ones(vertices), (np.arange(vertices), np.arange(vertices) % 2)))
    file = folder / f"ring-{vertices}.mat"
    savemat(file, {"network": (links + links.T).tocsc(), "group": group.tocsc()})
    return file.read_bytes()


def ring_dataset(site: Website, sha256: str | None) -> Dataset:
    """The entry for a ring of seven on the website."""
    return Dataset("ring", "A ring", 7, 7, 2, f"{site.address}/ring.mat", "Ring.mat", sha256, "these tests")
