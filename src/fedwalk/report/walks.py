"""The section on walks: hops as measured and as expected, and visits per vertex if the walks were kept.

What is expected is the protocol's own formula; for `paper`, the corrected Theorem 2.
"""

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import RunFolderError
from fedwalk.protocols.stages import SKIPGRAM
from fedwalk.report.charts import Axis, Bar, bars, columns
from fedwalk.report.content import Absent, Figure, Section, Table
from fedwalk.report.record import again
from fedwalk.report.source import LOST, Source
from fedwalk.run.record import WalkFacts

NUM_COLUMNS = 24
BLOCK = 1 << 16
"""Number of walks read at a time, which bounds the memory."""


def walk_section(source: Source) -> Section:
    """The section on walks."""
    walks = source.record.walks
    if not walks.count:
        if source.record.settings.get("embed") == SKIPGRAM.name:
            return Section("walks", "Walks", absent=(Absent("The run counted no walks."),))
        reason = "There are no walks: this embedding is spectral."
        return Section("walks", "Walks", absent=(Absent(reason, again(source, embed=SKIPGRAM.name)),))
    text = f"{walks.count:,} walks of {walks.length} entries."
    figures: list[Figure] = []
    rows: list[tuple[str, str]] = []
    absent: list[Absent] = []
    if walks.hops_per_walk:
        saved = 1 - walks.hops_per_walk / max(1, walks.length - 1)
        text += f" Prediction saved {saved:.1%} of the hops."
        rows += hop_rows(walks)
        figures.append(_hops(rows))
    if source.walks is None:
        reason = "The visits per vertex aren't shown, because the walks weren't kept."
        absent.append(Absent(reason, f"{again(source)} --keep-walks"))
    else:
        visits = visits_per_row(source, source.walks)[source.embedding.vectors.any(axis=1)]
        text += f" {np.count_nonzero(visits) / visits.size:.1%} of the vertices were visited."
        figures.append(_coverage(visits))
        rows += visit_rows(visits)
    table = Table(("", "number"), tuple(rows)) if rows else None
    return Section("walks", "Walks", (text,), tuple(figures), table, tuple(absent))


def visits_per_row(source: Source, walks: NDArray[np.int32]) -> NDArray[np.int64]:
    """How many entries of walks are each row of the embedding."""
    rows = len(source.embedding)
    if source.record.federation is None or source.tree is None:
        return count_visits(walks, rows)
    # A federation numbers the vertices by the leaves of the tree, and may lose some of them during the walks.
    embedded = source.leaves != LOST
    visits = np.zeros(rows, np.int64)
    visits[source.leaves[embedded]] = count_visits(walks, source.tree.leaves)[embedded]
    return visits


def count_visits(walks: NDArray[np.int32], vertices: int) -> NDArray[np.int64]:
    """How many entries of walks are each of the vertices 0 … n−1; the walks are read block by block.

    >>> count_visits(np.array([[0, 1], [1, 1]], np.int32), 3).tolist()
    [1, 3, 0]
    """
    visits = np.zeros(vertices, np.int64)
    for start in range(0, len(walks), BLOCK):
        block = np.asarray(walks[start : start + BLOCK]).ravel()
        if block.size and not 0 <= block.min() <= block.max() < vertices:
            raise RunFolderError(f"walks.npy: an entry outside 0 … {vertices - 1}. Embed the graph again with --force.")
        visits += np.bincount(block, minlength=vertices)
    return visits


def hop_rows(walks: WalkFacts) -> list[tuple[str, str]]:
    """Hops per walk without prediction, expected, and measured."""
    hops_by_name = {
        "without prediction": walks.length - 1,
        "expected": walks.expected_hops_per_walk,
        "measured": walks.hops_per_walk,
    }
    return [(name, f"{hops:.3f}") for name, hops in hops_by_name.items() if hops is not None]


def visit_rows(visits: NDArray[np.int64]) -> list[tuple[str, str]]:
    """How unevenly the vertices were visited."""
    values = {
        "vertices never visited": np.count_nonzero(visits == 0),
        "fewest visits": visits.min(),
        "median": np.median(visits),
        "most": visits.max(),
    }
    return [(name, f"{value:,.0f}") for name, value in values.items()]


def _hops(rows: list[tuple[str, str]]) -> Figure:
    drawn = bars("Hops per walk", [Bar(name, float(text), text) for name, text in rows])
    return Figure(drawn, "Hops per walk without prediction, expected by the protocol's formula, and measured.")


def _coverage(visits: NDArray[np.int64]) -> Figure:
    """A histogram of the visits of each visited vertex, with columns of equal width on a logarithmic axis."""
    seen = visits[visits > 0]
    low, high = float(seen.min()), float(max(seen.max(), 2 * seen.min()))
    edges = np.geomspace(low, high, NUM_COLUMNS + 1)
    edges[0], edges[-1] = low, high
    counts, _ = np.histogram(seen, edges)
    description = "; ".join(f"{name}: {value}" for name, value in visit_rows(visits)) + "."
    axes = Axis("visits", "log"), Axis("vertices")
    drawn = columns("Walk coverage", description, edges.tolist(), counts.tolist(), *axes)
    return Figure(drawn, "Number of vertices by how often they occur in the walks.")
