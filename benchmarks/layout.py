"""The layout of the HTML report's map, compared with other libraries' layouts of the same vectors.

    python benchmarks/layout.py RUN [RUN …] [--vertices 2000] [--seeds 3]

RUN is a run folder, as `fedwalk embed` writes it, or RUN:LABELS if its graph has its labels in a file of their own. For
each seed, another sample of the vertices is laid out. Measured are the time, the trustworthiness (how few of a point's
ten nearest are far away in the embedding; 1 is best) and the label agreement (the share of a point's ten nearest that
have a label in common with it). Every library runs once before it is timed, because some compile themselves first.

Needs `pip install openTSNE umap-learn pacmap`.
"""

import argparse
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np
from common import by_turns, publish, table
from numpy.typing import NDArray
from sklearn.manifold import TSNE, trustworthiness
from sklearn.neighbors import NearestNeighbors

from fedwalk.graph import Labels
from fedwalk.report.map.layout import lay_out, principal, unit
from fedwalk.report.source import read_source

NEAREST = 10
COMPONENTS = 30
"""Principal components that the other libraries work on, which makes them faster."""

Places = NDArray[Any]
Layout = Callable[[NDArray[np.float32], int], Places]


def scikit_learn(vectors: NDArray[np.float32], seed: int, iterations: int = 1000) -> Places:
    """scikit-learn's Barnes-Hut t-SNE, from the principal components."""
    model = TSNE(init="pca", max_iter=iterations, random_state=seed)
    return np.asarray(model.fit_transform(principal(unit(vectors), COMPONENTS).astype(np.float32)))


def open_tsne(vectors: NDArray[np.float32], seed: int) -> Places:
    """The t-SNE of openTSNE, from the principal components."""
    import openTSNE

    return np.asarray(openTSNE.TSNE(n_jobs=-1, random_state=seed).fit(principal(unit(vectors), COMPONENTS)))


def umap(vectors: NDArray[np.float32], seed: int) -> Places:
    """UMAP."""
    from umap import UMAP

    return np.asarray(UMAP(random_state=seed).fit_transform(principal(unit(vectors), COMPONENTS)))


def pacmap(vectors: NDArray[np.float32], seed: int) -> Places:
    """PaCMAP."""
    from pacmap import PaCMAP

    return np.asarray(PaCMAP(random_state=seed).fit_transform(principal(unit(vectors), COMPONENTS).astype(np.float32)))


LAYOUTS: dict[str, Layout] = {
    "fedwalk": lambda vectors, seed: lay_out(vectors),
    "scikit-learn t-SNE": scikit_learn,
    "scikit-learn t-SNE, 400 iterations": lambda vectors, seed: scikit_learn(vectors, seed, 400),
    "openTSNE": open_tsne,
    "UMAP": umap,
    "PaCMAP": pacmap,
}


def agreement(places: Places, labels: Labels) -> float:
    """The share of a labelled point's nearest that have a label in common with it."""
    near = NearestNeighbors(n_neighbors=NEAREST).fit(places).kneighbors(return_distance=False)
    carried = labels.indicator.toarray() > 0
    shared = [(carried[row] & carried[others]).any(axis=1).mean() for row, others in enumerate(near)]
    return float(np.mean(np.array(shared)[labels.per_vertex > 0]))


def measure(run: str, options: argparse.Namespace) -> list[list[str]]:
    """A row per layout of one run: seconds, trustworthiness, label agreement."""
    folder, _, file = run.partition(":")
    source = read_source(Path(folder), labels=file or None)
    vectors, labels = source.embedding.vectors, source.graph.labels if source.graph else None
    present = np.flatnonzero(vectors.any(axis=1))
    results: dict[str, list[tuple[float, ...]]] = {name: [] for name in LAYOUTS}
    for seed in range(options.seeds):
        rows = np.random.default_rng(seed).permutation(present)[: options.vertices]
        for name, (seconds, places) in timed(vectors[rows], seed).items():
            trust = trustworthiness(unit(vectors[rows]), places, n_neighbors=NEAREST)
            results[name].append((seconds, trust, agreement(places, labels.take(rows)) if labels else np.nan))
    return [[Path(folder).name, name, *spread(values)] for name, values in results.items()]


def timed(vectors: NDArray[np.float32], seed: int) -> dict[str, tuple[float, Places]]:
    """The seconds and the places of every layout."""
    places: dict[str, Places] = {}

    def keep(name: str) -> None:
        places[name] = LAYOUTS[name](vectors, seed)

    seconds = by_turns({name: partial(keep, name) for name in LAYOUTS}, 1)
    return {name: (seconds[name][0], places[name]) for name in LAYOUTS}


def spread(values: list[tuple[float, ...]]) -> list[str]:
    """The median of the seconds and the means of the qualities."""
    seconds, trust, agreed = zip(*values, strict=True)
    return [f"{median(seconds):.1f} s", f"{mean(trust):.3f}", f"{mean(agreed):.3f}"]


def warm_up() -> None:
    """Run every layout once on a few vectors."""
    few = np.random.default_rng(0).normal(size=(500, 40)).astype(np.float32)
    for layout in LAYOUTS.values():
        layout(few, 0)


def main() -> None:
    """Measure and publish."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run folder, or RUN:LABELS")
    parser.add_argument("--vertices", type=int, default=2000, help="vertices laid out")
    parser.add_argument("--seeds", type=int, default=3, help="samples of the vertices")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # the libraries warn about each other's old names
    warm_up()
    rows = [row for run in options.runs for row in measure(run, options)]
    header = ["run", "layout", "time", "trustworthiness", "label agreement"]
    names = " ".join(":".join(Path(part).name for part in run.split(":")) for run in options.runs)
    publish(
        "layout",
        f"{options.vertices:,} vertices, {options.seeds} samples.\n\n{table(header, rows)}",
        f"python benchmarks/layout.py {names} --vertices {options.vertices} --seeds {options.seeds}",
    )


if __name__ == "__main__":
    main()
