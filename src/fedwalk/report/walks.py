"""Walks: hops against theory (Theorem 2, corrected), and how often each vertex was visited, if the walks were kept."""

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import RunFolderError
from fedwalk.report.charts import Axis, Bar, bars, columns
from fedwalk.report.content import Absent, Figure, Section, Table
from fedwalk.report.record import again
from fedwalk.report.source import Source

COLUMNS = 24
ROWS_AT_A_TIME = 1 << 16


def walk_section(source: Source) -> Section:
    """The section on walks."""
    walks = source.record["walks"]
    if not walks["count"]:
        reason = "There are no walks: this embedding is spectral."
        return Section("walks", "Walks", absent=(Absent(reason, again(source, embed="skipgram")),))
    text = f"{walks['count']:,} walks of {walks['length']} entries."
    figures: list[Figure] = []
    rows: list[tuple[str, str]] = []
    absent: list[Absent] = []
    if source.record["messages"].get("hops", {}).get("count"):
        saved = 1 - walks["hops_per_walk"] / max(1, walks["length"] - 1)
        text += f" Prediction saved {saved:.1%} of the hops."
        rows += hop_rows(walks)
        figures.append(_hops(rows))
    if source.walks is None:
        reason = "How well the walks cover the vertices is not shown, because they were not kept."
        absent.append(Absent(reason, f"{again(source)} --keep-walks"))
    else:
        visits = count_visits(source.walks, len(source.embedding))[source.embedding.vectors.any(axis=1)]
        text += f" {np.count_nonzero(visits) / visits.size:.1%} of the vertices were visited."
        figures.append(_coverage(visits))
        rows += visit_rows(visits)
    table = Table(("", "number"), tuple(rows)) if rows else None
    return Section("walks", "Walks", (text,), tuple(figures), table, tuple(absent))


def count_visits(walks: NDArray[np.int32], vertices: int) -> NDArray[np.int64]:
    """How many entries name each row of the embedding; the walks are read piece by piece.

    >>> count_visits(np.array([[0, 1], [1, 1]], np.int32), 3).tolist()
    [1, 3, 0]
    """
    visits = np.zeros(vertices, np.int64)
    for start in range(0, len(walks), ROWS_AT_A_TIME):
        piece = np.asarray(walks[start : start + ROWS_AT_A_TIME]).ravel()
        if piece.size and not 0 <= piece.min() <= piece.max() < vertices:
            raise RunFolderError(f"walks.npy: names a row outside 0 … {vertices - 1}. Embed again with --force.")
        visits += np.bincount(piece, minlength=vertices)
    return visits


def hop_rows(walks: dict[str, float]) -> list[tuple[str, str]]:
    """Hops of a walk that predicts nothing, and those expected and measured."""
    found = {
        "without prediction": walks["length"] - 1,
        "expected": walks["expected_hops_per_walk"],
        "measured": walks["hops_per_walk"],
    }
    return [(name, f"{hops:.3f}") for name, hops in found.items()]


def visit_rows(visits: NDArray[np.int64]) -> list[tuple[str, str]]:
    """How unevenly the vertices were visited."""
    found = {
        "vertices never visited": np.count_nonzero(visits == 0),
        "fewest visits": visits.min(),
        "median": np.median(visits),
        "most": visits.max(),
    }
    return [(name, f"{value:,.0f}") for name, value in found.items()]


def _hops(rows: list[tuple[str, str]]) -> Figure:
    drawn = bars("Hops per walk", [Bar(name, float(text), text) for name, text in rows])
    return Figure(drawn, "Times that a walk is handed on: Theorem 2 (corrected), and what this run took.")


def _coverage(visits: NDArray[np.int64]) -> Figure:
    """A histogram over the vertices that were visited, in columns that widen by a constant factor."""
    seen = visits[visits > 0]
    low, high = float(seen.min()), float(max(seen.max(), 2 * seen.min()))
    edges = np.geomspace(low, high, COLUMNS + 1)
    edges[0], edges[-1] = low, high
    counts, _ = np.histogram(seen, edges)
    description = "; ".join(f"{name}: {value}" for name, value in visit_rows(visits)) + "."
    axes = Axis("visits", "log"), Axis("vertices")
    drawn = columns("Walk coverage", description, edges.tolist(), counts.tolist(), *axes)
    return Figure(drawn, "How many vertices were visited how often, over all entries of all walks.")
