"""Run folders for the tests of the report: small real runs, and large ones with random vectors."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from conftest import SETTINGS
from fedwalk.embedding import Embedding
from fedwalk.graph import Graph, Labels, load_graph
from fedwalk.graph.save import save_edge_list, save_labels
from fedwalk.run.execute import embed_to_folder
from fedwalk.settings import Settings
from helpers.simulation import random_linkage

NASTY = "</script><img src=x onerror=alert(1)>"


def embed(graph: Graph, path: Path, *, keep_walks: bool = False, origin: Path | None = None, **settings: Any) -> Path:
    """A small run of the graph; `origin` is the file that run.json names."""
    inputs: dict[str, str | None] | None = {"graph": str(origin)} if origin else None
    chosen = Settings.from_mapping({**SETTINGS, **settings})
    embed_to_folder(graph, chosen, path, keep_walks=keep_walks, inputs=inputs)
    return path


def record_of(path: Path) -> dict[str, Any]:
    """The content of run.json."""
    record: dict[str, Any] = json.loads((path / "run.json").read_text(encoding="utf-8"))
    return record


def rewrite(path: Path, **changes: Any) -> None:
    """Change parts of run.json."""
    (path / "run.json").write_text(json.dumps({**record_of(path), **changes}), encoding="utf-8")


def untrained(path: Path, vertices: int, labels: int = 14) -> Path:
    """A finished run with random vectors, with its graph and labels next to it."""
    rng = np.random.default_rng(0)
    ring = np.column_stack([np.arange(vertices), np.roll(np.arange(vertices), 1)])
    pairs = np.concatenate([ring, rng.integers(0, vertices, (3 * vertices, 2))])
    graph = load_graph(pairs)
    chosen = rng.integers(0, labels, vertices)
    indicator = sparse.csr_array((np.ones(vertices), (np.arange(vertices), chosen)), shape=(vertices, labels))
    graph = graph.with_labels(Labels(indicator, tuple(f"label-{i}" for i in range(labels))))
    embed(load_graph([[0, 1], [1, 2], [2, 0]]), path)
    save_edge_list(graph, path / "graph.edges")
    save_labels(graph, path / "labels.txt")
    centres = rng.normal(size=(labels, 16))
    Embedding(graph.names, centres[chosen] + rng.normal(size=(vertices, 16))).save(path / "embedding.npz")
    np.savez(path / "tree.npz", linkage=random_linkage(vertices, 1), nodes=graph.names)
    shape = {"vertices": vertices, "edges": graph.edges, "isolated": 0, "fingerprint": graph.fingerprint()}
    rewrite(path, graph=shape, input={"graph": str(path / "graph.edges")})
    return path


def federated(graph: Graph, path: Path, lost: int) -> Path:
    """A run as a federation leaves it that lost the first `lost` vertices of the graph during the walks."""
    embed(graph, path, keep_walks=True)
    with np.load(path / "embedding.npz") as arrays:
        nodes, vectors = arrays["nodes"], arrays["vectors"]
    Embedding(nodes[lost:], vectors[lost:]).save(path / "embedding.npz")
    rewrite(path, federation={"holders": {"a": {}, "b": {}}, "lost": {"b": "walks: no answer"}})
    return path


def nasty(path: Path) -> tuple[Path, Path]:
    """A run whose vertices and labels are named like code that a page must not run, and the labels' file."""
    names = [f"{NASTY}{i}" for i in range(30)]
    edges = "".join(f"{names[i]}\t{names[j]}\n" for i in range(30) for j in (i - 1, i - 7))
    labels = "".join(f"{name}\t{(NASTY + 'red', '&lt;b&gt;')[i % 2]}\n" for i, name in enumerate(names))
    path.mkdir(parents=True)
    (path / "graph.edges").write_text(edges, encoding="utf-8")
    (path / "labels.txt").write_text(labels, encoding="utf-8")
    run = embed(load_graph(path / "graph.edges"), path / "run", origin=path / "graph.edges")
    return run, path / "labels.txt"
