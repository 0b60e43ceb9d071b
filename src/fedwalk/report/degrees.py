"""The degree distribution, and beside it the noised one that a simulation's server saw (Sec. 4.2).

A run doesn't keep its degree vectors, but in a simulation they are a function of graph, seed, bins and ε, and so can
be made again, bit for bit.
"""

import math

import numpy as np
from numpy.typing import NDArray

from fedwalk.graph import Graph
from fedwalk.kernels.threads import silent
from fedwalk.privacy.degrees import estimated_degrees as degrees_from_reports
from fedwalk.privacy.mechanisms import RandomisedResponse
from fedwalk.protocol.degree import estimated_degrees
from fedwalk.protocol.messages import ListPlan
from fedwalk.protocol.randomness import SimulatedRandomness
from fedwalk.protocol.server import Server
from fedwalk.protocol.transcript import Transcript
from fedwalk.report.charts import Axis, Line, lines
from fedwalk.report.content import Figure, Section, Table
from fedwalk.report.source import Source
from fedwalk.runtime.local import LocalRuntime
from fedwalk.settings import Settings

THRESHOLDS = 80
QUANTILES = {"smallest": 0.0, "10%": 0.1, "median": 0.5, "90%": 0.9, "99%": 0.99, "largest": 1.0}


def degree_section(source: Source) -> Section:
    """The section on degrees, if the graph is at hand."""
    key, title = "degrees", "Degrees"
    if source.graph is None:
        return Section(key, title, absent=(source.no_graph,) if source.no_graph else ())
    private = source.protocol == "ldp"
    active = source.graph if private else source.graph.active()[0]
    true = active.degrees.astype(np.float64)
    found = {"true": true}
    text = f"The mean degree is {true.mean():,.1f}, the largest {true.max():,.0f}."
    if source.protocol == "paper" and source.record.get("simulation"):
        noised = noised_degrees(active, source.settings["bins"], source.settings["epsilon"], source.settings["seed"])
        found["noised"] = noised
        text += _noise_text(noised - true, source.settings["bins"], source.settings["epsilon"])
    if private and source.record.get("simulation"):
        found["estimated"] = decoded_degrees(active, source.settings["epsilon"], source.settings["seed"])
        text += " Estimated is what the server makes of the reported pairs; no device tells its degree."
    return Section(key, title, (text,), (_figure(found),), _table(found))


def decoded_degrees(graph: Graph, epsilon: float, seed: int) -> NDArray[np.float64]:
    """The degrees that the server of `ldp` estimates, from the lists as the run itself drew them."""
    mechanism = RandomisedResponse.of(epsilon)
    runtime = LocalRuntime(graph, Server(graph.vertices, 1, epsilon), Settings(seed=seed), Transcript())
    reports = runtime.lists(ListPlan(graph.vertices, epsilon), silent)
    return degrees_from_reports(reports.counts(), mechanism.hit, mechanism.flip)


def noised_degrees(active: Graph, bins: int, epsilon: float, seed: int) -> NDArray[np.float64]:
    """Σ c_v of every vertex that took part, as the run itself drew it."""
    server = Server(active.vertices, bins, epsilon)
    runtime = LocalRuntime(active, server, Settings(seed=seed), Transcript())
    return estimated_degrees(runtime.vectors(server.group_plan(SimulatedRandomness(seed)), silent))


def shares_from(degrees: NDArray[np.float64], thresholds: NDArray[np.int64]) -> NDArray[np.float64]:
    """The share of vertices with at least so many neighbours, noised degrees rounded to whole ones.

    >>> shares_from(np.array([1.0, 1.6, 4.0, -0.2]), np.array([1, 2, 4])).tolist()
    [0.75, 0.5, 0.25]
    """
    ascending = np.sort(np.rint(degrees))
    return 1.0 - np.searchsorted(ascending, thresholds, side="left") / len(degrees)


def _noise_text(noise: NDArray[np.float64], bins: int, epsilon: float) -> str:
    return (
        f" The noise in the {bins} bins moves a degree by {noise.std():.2f} (standard deviation; "
        f"√(2k)/ε says {math.sqrt(2 * bins) / epsilon:.2f})."
    )


def _figure(found: dict[str, NDArray[np.float64]]) -> Figure:
    """How many vertices have at least d neighbours, on two logarithmic axes."""
    largest = max(2.0, *(float(degrees.max()) for degrees in found.values()))
    thresholds = np.unique(np.rint(np.geomspace(1, largest, THRESHOLDS)).astype(np.int64))
    series = []
    for name, degrees in found.items():
        shares = shares_from(degrees, thresholds)
        kept = shares > 0
        series.append(Line(name, thresholds[kept].tolist(), shares[kept].tolist()))
    caption = "Share of the vertices that have at least so many neighbours, on logarithmic axes."
    description = "; ".join(f"{name}: median {np.median(degrees):,.0f}" for name, degrees in found.items()) + "."
    axes = Axis("degree", "log"), Axis("share of vertices", "log", lambda share: f"{share:.4g}")
    return Figure(lines("Degree distribution", description, series, *axes), caption)


def _table(found: dict[str, NDArray[np.float64]]) -> Table:
    rows = tuple(
        (name, *(f"{np.quantile(degrees, share):,.0f}" for degrees in found.values()))
        for name, share in QUANTILES.items()
    )
    return Table(("degree", *found), rows)
