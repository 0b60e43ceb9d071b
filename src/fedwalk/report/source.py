"""Read what a report is made from: the files of a run folder and, if available, the graph.

A graph is used only if its fingerprint is the one of the run. A missing graph isn't an error: the page says why it is
missing and how to add it.
"""

import shlex
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedwalk.embedding import Embedding
from fedwalk.errors import InputError, RunFolderError, SettingsError
from fedwalk.graph import Graph, load_graph
from fedwalk.graph.datasets import resolve_graph
from fedwalk.protocols.paper.tree import Tree
from fedwalk.report.content import Absent
from fedwalk.run.folder import TREE_FILE, WALKS_FILE
from fedwalk.run.record import RunRecord, graph_of_run, read_run
from fedwalk.settings import Settings

LOST = -1
"""In place of a row of the embedding, for a vertex that has none."""


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A finished run and its graph.

    `origin` is the file of the graph, if known; `no_graph` says why there is no graph. The leaves of the tree are the
    vertices that took part, and `leaves` has their rows in the embedding; -1 for a vertex that a federation lost during
    the walks. The entries of walks are rows of the embedding, or leaves in a federated run with a tree.
    """

    path: Path
    record: RunRecord
    embedding: Embedding
    graph: Graph | None
    origin: str | None
    no_graph: Absent | None
    tree: Tree | None
    leaves: NDArray[np.int64]
    walks: NDArray[np.int32] | None

    @property
    def settings(self) -> Settings | None:
        """The settings of the run; None if its protocol, or a setting of it, isn't known here.

        The record has all settings by name in either case.
        """
        try:
            return Settings.from_mapping(self.record.settings)
        except SettingsError:
            return None

    @property
    def protocol(self) -> str:
        """The name of the run's protocol."""
        return str(self.record.settings["protocol"])

    def command(self, *flags: str) -> str:
        """The command that writes this report, with additional flags."""
        return " ".join(["fedwalk report", shlex.quote(str(self.path)), *flags])


def read_source(
    path: Path,
    graph: str | None = None,
    format: str | None = None,  # noqa: A002
    labels: str | None = None,
) -> Source:
    """Read a run folder and its graph: the given one, or the one that `run.json` names if it still exists."""
    record = read_run(path)
    embedding = Embedding.load(path)
    loaded, origin, no_graph = _find_graph(path, record, embedding, (graph, format, labels))
    tree, leaves = _read_tree(path, embedding, federated=record.federation is not None)
    return Source(path, record, embedding, loaded, origin, no_graph, tree, leaves, _read_walks(path))


def _find_graph(
    path: Path, record: RunRecord, embedding: Embedding, inputs: tuple[str | None, str | None, str | None]
) -> tuple[Graph | None, str | None, Absent | None]:
    """The graph with its labels, its file, and if there is no graph the reason."""
    given, chosen, labels = inputs
    origin = given or record.input.get("graph")
    try:
        loaded = _load(origin, chosen or (None if given else record.input.get("format")), labels, record, embedding)
    except (InputError, OSError) as error:
        # The file that run.json names may have been moved since. A graph or labels that the user gave must load.
        if given or labels:
            raise
        command = "" if record.federation is not None else f"fedwalk report {shlex.quote(str(path))} --graph GRAPH"
        return None, origin, Absent(f"The graph isn't available: {error}", command)
    return loaded, origin, None


def _load(origin: str | None, chosen: str | None, labels: str | None, record: RunRecord, embedding: Embedding) -> Graph:
    """Load the graph from this file; InputError unless it is the graph of the run."""
    if record.federation is not None:
        raise InputError("this run was made by a federation, in which no party has the whole graph.")
    if origin is None:
        raise InputError("run.json doesn't name the graph's file. Give it with --graph.")
    # The recorded columns are those of the recorded file, not of one that was given instead.
    recorded = record.input if origin == record.input.get("graph") else {}
    columns = {name: recorded.get(name) for name in ("source", "target", "weight")}
    graph = load_graph(resolve_graph(origin), format=chosen, labels=labels, **columns)
    return graph_of_run(graph, record, embedding.nodes, origin)


def _read_tree(path: Path, embedding: Embedding, *, federated: bool) -> tuple[Tree | None, NDArray[np.int64]]:
    """The tree, if the protocol built one, and the row of each leaf in the embedding; -1 for a leaf without a row.

    Only a federation can lose vertices between the tree and the embedding.
    """
    file = path / TREE_FILE
    if not file.exists():
        return None, np.empty(0, np.int64)
    rows = {str(name): row for row, name in enumerate(embedding)}
    try:
        # numpy doesn't close the file itself if the archive is damaged.
        with file.open("rb") as opened, np.load(opened, allow_pickle=False) as arrays:
            tree = Tree(arrays["linkage"])
            leaves = np.array([rows.get(str(name), LOST) for name in arrays["nodes"].tolist()], np.int64)
        if leaves.size != tree.leaves:
            raise InputError(f"{tree.leaves} leaves and {leaves.size} names")
        if not federated and LOST in leaves:
            raise InputError("it has a vertex that isn't in embedding.npz")
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile, InputError) as error:
        raise RunFolderError(f"{file}: can't be read ({error}). Embed the graph again with --force.") from error
    return tree, leaves


def _read_walks(path: Path) -> NDArray[np.int32] | None:
    """The walks, if they were kept, as a memory map: they can be larger than the memory."""
    file = path / WALKS_FILE
    if not file.exists():
        return None
    try:
        walks: NDArray[np.int32] = np.load(file, mmap_mode="r", allow_pickle=False)
        if walks.ndim != 2 or walks.dtype != np.int32:
            raise InputError(f"expected rows of 32-bit numbers, got {walks.ndim}-D {walks.dtype}")
    except (OSError, EOFError, ValueError, InputError) as error:
        raise RunFolderError(f"{file}: can't be read ({error}). Embed the graph again with --force.") from error
    return walks
