"""The setup of an experiment: a graph, and the paper's choices of T_R, k, ε, p and γ for it (Sec. 5).

The paper has two datasets. Any other graph gets BlogCatalog's choices, as far as its size allows. If a dataset isn't
available, a generated graph can take its place; its numbers are then marked as generated everywhere.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from fedwalk.errors import InputError
from fedwalk.graph import Graph, load_graph, social_network
from fedwalk.graph.datasets import DATASETS, is_downloaded, path, resolve_graph


@dataclass(frozen=True, slots=True)
class Setup:
    """A graph with the values of each parameter that the figures vary."""

    title: str
    graph: Graph
    dataset: str | None
    ratios: tuple[float, ...]
    sweep_ratios: tuple[float, ...]
    bins: tuple[int, ...]
    walks: tuple[int, ...]
    epsilons: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0)
    probabilities: tuple[float, ...] = (0.0, 0.1, 0.2, 0.3, 0.4)
    seeds: int = 3
    splits: int = 5
    threads: int | None = None
    rule: str = "known-count"

    @property
    def usual_bins(self) -> int:
        """k = ⌊ln n⌋ as an explicit number, so that the default and the last value of a sweep are the same trial."""
        return largest_bins(self.graph)

    @property
    def ratio(self) -> float:
        """The T_R used where an experiment reports a single one: the largest."""
        return self.ratios[-1]


GENERATED: dict[str, tuple[str, Callable[[], Graph]]] = {
    "flickr-like": (
        "generated, of Flickr's size",
        lambda: social_network(80_513, 2 * 5_899_882 / 80_513, 195, seed=0),
    ),
    "social-like": ("generated, dense social", lambda: social_network(4000, 60, 30, mixing=0.7, seed=1)),
    "protein-like": (
        "generated, protein-like",
        lambda: social_network(3900, 20, 50, mixing=0.7, exponent=2.3, overlap=0.5, seed=2),
    ),
    "citation-like": (
        "generated, sparse and citation-like",
        lambda: social_network(2700, 4, 7, mixing=0.2, exponent=3.0, overlap=0.0, seed=3),
    ),
}
"""Graphs generated on demand, by name: a title, and the function that makes the graph."""

BLOGCATALOG = ((0.1, 0.2, 0.3, 0.4, 0.5, 0.6), (0.1, 0.2, 0.5, 0.6), (3, 5, 7, 9), (20, 40, 60, 80))
FLICKR = (tuple(i / 100 for i in range(1, 11)), (0.01, 0.02, 0.09, 0.1), (5, 7, 9, 11), (10, 20, 40, 60, 80))
"""T_R of the curves, T_R of the sweeps, k, γ. The paper's list for Flickr ends in 0.01 again, a misprint of 0.1."""


def set_up(
    name: str,
    *,
    labels: str | PathLike[str] | None = None,
    seeds: int = 3,
    splits: int = 5,
    num_walks: int = 80,
    threads: int | None = None,
) -> Setup:
    """The setup for the name of a dataset or generated graph, or for a graph file; γ is capped at `num_walks`.

    `labels` is a file of labels, which replace those of the graph; `fedwalk.graph.load_labels` describes it.
    """
    title, graph, dataset = find_graph(name)
    if labels is not None:
        if graph.labels is not None:
            # The paper's numbers are about the dataset's own labels.
            title, dataset = f"{title}, labels from {Path(labels).name}", None
        graph = load_graph(graph, labels=labels)
    if graph.labels is None:
        need = "the paper's experiments need them. Use a dataset, a .mat file with a `group` matrix, or --labels FILE"
        raise InputError(f"{name}: the graph has no labels, but {need}.")
    ratios, sweep, bins, counts = FLICKR if name in ("flickr", "flickr-like") else BLOGCATALOG
    largest = largest_bins(graph)
    # The paper chooses k up to ⌊ln n⌋. A small graph may allow none of its values, and then has one point.
    possible = tuple(k for k in bins if k <= largest)
    # γ as a set: if it is capped, several values become the same one.
    return Setup(
        title, graph, dataset, ratios, sweep,
        possible or (largest,), tuple(sorted({min(count, num_walks) for count in counts})),
        seeds=seeds, splits=splits, threads=threads,
    )  # fmt: skip


def largest_bins(graph: Graph) -> int:
    """⌊ln n⌋, where n counts the vertices that have a neighbour."""
    return max(1, math.floor(math.log(graph.vertices - graph.isolated)))


def find_graph(
    name: str, *, file_format: str | None = None, labels: str | None = None
) -> tuple[str, Graph, str | None]:
    """A title, the graph, and the name of the dataset if it is one; `labels` is a file that replaces its labels."""
    if name in GENERATED:
        title, make = GENERATED[name]
        return f"{name} ({title})", load_graph(make(), labels=labels), None
    if name in DATASETS:
        if not is_downloaded(name) and f"{name}-like" in GENERATED:
            raise InputError(
                f"the dataset {name} isn't downloaded yet. Run `fedwalk data get {name}`, or use {name}-like, a "
                "generated graph of its size, marked as generated in every table and figure."
            )
        # Titles have the form "name: what the vertices are, …".
        return DATASETS[name].title.split(":")[0], load_graph(path(name), labels=labels), name
    return Path(name).name, load_graph(resolve_graph(name), format=file_format, labels=labels), None
