"""What a report is made from: the files of a run folder and, where it can be found, the graph.

The graph is the one that was embedded or none: its fingerprint tells. What isn't there is no error; the page says
why it is missing and how to get it.
"""

import shlex
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedwalk.embedding import Embedding
from fedwalk.errors import InputError, RunFolderError
from fedwalk.graph import Graph, load_graph
from fedwalk.graph.datasets import resolve_graph
from fedwalk.job import read_run
from fedwalk.protocol.tree import Tree
from fedwalk.report.content import Absent

NEEDED = {
    "graph": ("vertices", "edges"),
    "settings": ("protocol", "epsilon", "bins", "walks", "encoder", "seed"),
    "seconds": ("total",),
    "messages": (),
    "walks": ("count", "length", "hops_per_walk", "expected_hops_per_walk"),
}
"""What the page takes from `run.json` without asking."""


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A finished run and its graph.

    `origin` is the file that the graph came from, as far as is known; `no_graph` says why there is no graph. The
    tree's leaves are the vertices that took part: `leaves` has their rows in the embedding. The walks' entries are
    rows of the embedding too.
    """

    path: Path
    record: dict[str, Any]
    embedding: Embedding
    graph: Graph | None
    origin: str | None
    no_graph: Absent | None
    tree: Tree | None
    leaves: NDArray[np.int64]
    walks: NDArray[np.int32] | None

    @property
    def settings(self) -> dict[str, Any]:
        """The run's settings by name."""
        settings: dict[str, Any] = self.record["settings"]
        return settings

    @property
    def protocol(self) -> str:
        """`paper`, `deepwalk`, …"""
        return str(self.settings["protocol"])

    def command(self, *flags: str) -> str:
        """The report's own command with more flags."""
        return " ".join(["fedwalk report", shlex.quote(str(self.path)), *flags])


def read_source(
    path: Path,
    graph: str | None = None,
    format: str | None = None,  # noqa: A002
    labels: str | None = None,
) -> Source:
    """Read a run folder and its graph: the one given, or the one that `run.json` names if it is still there."""
    record = read_run(path)
    _check(path, record)
    embedding = Embedding.load(path / "embedding.npz")
    found, origin, no_graph = _find_graph(path, record, graph, format, labels)
    if found is not None and not np.array_equal(found.names, embedding.nodes):
        raise RunFolderError(f"{path}: embedding.npz and run.json are of different graphs. Start again with --force.")
    tree, leaves = _read_tree(path, embedding)
    return Source(path, record, embedding, found, origin, no_graph, tree, leaves, _read_walks(path))


def _check(path: Path, record: dict[str, Any]) -> None:
    """Refuse a record that lacks what every page shows."""
    for part, names in NEEDED.items():
        missing = [name for name in names if not isinstance(record[part], dict) or name not in record[part]]
        if missing:
            raise RunFolderError(f"{path}/run.json: has no {missing[0]!r} in {part!r}. Embed again with --force.")


def _find_graph(
    path: Path, record: dict[str, Any], given: str | None, chosen: str | None, labels: str | None
) -> tuple[Graph | None, str | None, Absent | None]:
    """The graph with its labels, its file, and why there is none."""
    inputs = record.get("input") or {}
    origin = given or inputs.get("graph")
    try:
        found = _load(origin, chosen or (None if given else inputs.get("format")), labels, record)
    except (InputError, OSError) as error:
        if given or labels:
            raise
        command = "" if record.get("federation") else f"fedwalk report {shlex.quote(str(path))} --graph GRAPH"
        return None, origin, Absent(f"The graph is not at hand: {error}", command)
    return found, origin, None


def _load(origin: str | None, chosen: str | None, labels: str | None, record: dict[str, Any]) -> Graph:
    """The graph of this file, if it is the run's."""
    if record.get("federation"):
        raise InputError("this run was a federation's, and nobody holds its graph.")
    if origin is None:
        raise InputError("run.json doesn't name its file. Give it with --graph.")
    graph = load_graph(resolve_graph(origin), format=chosen, labels=labels)
    if graph.fingerprint() != record["graph"].get("fingerprint"):
        raise InputError(
            f"{origin}: isn't the graph of this run (its fingerprint differs). Give the one that was embedded."
        )
    return graph


def _read_tree(path: Path, embedding: Embedding) -> tuple[Tree | None, NDArray[np.int64]]:
    """The tree, if the protocol built one, and the embedding's row of each of its leaves."""
    file = path / "tree.npz"
    if not file.exists():
        return None, np.empty(0, np.int64)
    rows = {str(name): row for row, name in enumerate(embedding)}
    try:
        with file.open("rb") as opened, np.load(opened, allow_pickle=False) as arrays:
            tree = Tree(arrays["linkage"])
            leaves = np.array([rows[str(name)] for name in arrays["nodes"].tolist()], np.int64)
        if leaves.size != tree.leaves:
            raise InputError(f"{tree.leaves} leaves and {leaves.size} names")
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile, InputError) as error:
        raise RunFolderError(f"{file}: can't be read ({error}). Embed the graph again with --force.") from error
    return tree, leaves


def _read_walks(path: Path) -> NDArray[np.int32] | None:
    """The walks, if they were kept; they stay on disk."""
    file = path / "walks.npy"
    if not file.exists():
        return None
    try:
        walks: NDArray[np.int32] = np.load(file, mmap_mode="r", allow_pickle=False)
        if walks.ndim != 2 or walks.dtype != np.int32:
            raise InputError(f"expected rows of 32-bit numbers, got {walks.ndim}-D {walks.dtype}")
    except (OSError, EOFError, ValueError, InputError) as error:
        raise RunFolderError(f"{file}: can't be read ({error}). Embed the graph again with --force.") from error
    return walks
