"""The degree distribution, and beside it the one that the server of a simulated run could estimate (Sec. 4.2).

A run doesn't store what the server saw, but in a simulation it is a function of graph, settings and seed, so it can be
computed again, bit for bit.
"""

import numpy as np
from numpy.typing import NDArray

from fedwalk.protocols.base import SeenDegrees
from fedwalk.protocols.registry import find_protocol
from fedwalk.report.charts import Axis, Line, lines
from fedwalk.report.content import Figure, Section, Table
from fedwalk.report.source import Source
from fedwalk.run.execute import participants

THRESHOLDS = 80
QUANTILES = {"smallest": 0.0, "10%": 0.1, "median": 0.5, "90%": 0.9, "99%": 0.99, "largest": 1.0}


def degree_section(source: Source) -> Section:
    """The section on degrees, if the graph is available."""
    key, title = "degrees", "Degrees"
    if source.graph is None:
        return Section(key, title, absent=(source.no_graph,) if source.no_graph else ())
    settings = source.settings
    # For a protocol that isn't installed here, only the graph itself can be shown.
    active = source.graph if settings is None else participants(source.graph, settings)[0]
    true = active.degrees.astype(np.float64)
    degrees = {"true": true}
    text = f"The mean degree is {true.mean():,.1f}, the largest {true.max():,.0f}."
    make = None if settings is None else find_protocol(settings.protocol).seen_degrees
    if settings is not None and make is not None and source.record.simulation:
        seen: SeenDegrees = make(active, settings)
        degrees[seen.name] = seen.degrees
        text += f" {seen.text}"
    return Section(key, title, (text,), (_figure(degrees),), _table(degrees))


def shares_from(degrees: NDArray[np.float64], thresholds: NDArray[np.int64]) -> NDArray[np.float64]:
    """The share of vertices with at least this many neighbours; noised degrees are rounded.

    >>> shares_from(np.array([1.0, 1.6, 4.0, -0.2]), np.array([1, 2, 4])).tolist()
    [0.75, 0.5, 0.25]
    """
    ascending = np.sort(np.rint(degrees))
    return 1.0 - np.searchsorted(ascending, thresholds, side="left") / len(degrees)


def _figure(series: dict[str, NDArray[np.float64]]) -> Figure:
    """How many vertices have at least d neighbours, on two logarithmic axes."""
    largest = max(2.0, *(float(degrees.max()) for degrees in series.values()))
    thresholds = np.unique(np.rint(np.geomspace(1, largest, THRESHOLDS)).astype(np.int64))
    curves = []
    for name, degrees in series.items():
        shares = shares_from(degrees, thresholds)
        kept = shares > 0
        curves.append(Line(name, thresholds[kept].tolist(), shares[kept].tolist()))
    caption = "Share of the vertices that have at least so many neighbours, on logarithmic axes."
    description = "; ".join(f"{name}: median {np.median(degrees):,.0f}" for name, degrees in series.items()) + "."
    axes = Axis("degree", "log"), Axis("share of vertices", "log", lambda share: f"{share:.4g}")
    return Figure(lines("Degree distribution", description, curves, *axes), caption)


def _table(series: dict[str, NDArray[np.float64]]) -> Table:
    rows = tuple(
        (name, *(f"{np.quantile(degrees, share):,.0f}" for degrees in series.values()))
        for name, share in QUANTILES.items()
    )
    return Table(("degree", *series), rows)
