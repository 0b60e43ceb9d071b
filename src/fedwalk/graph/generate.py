"""Generate synthetic social networks: overlapping communities, hubs, and the communities as labels.

Edges are drawn as in a Chung-Lu graph, with endpoints in proportion to heavy-tailed weights, except that for a share
1 − `mixing` of the edges both ends come from the same community. A vertex in several communities divides its weight
among them, so its expected degree doesn't depend on their number.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fedwalk.errors import SettingsError
from fedwalk.graph.build import MAX_VERTICES, distinct, from_edges
from fedwalk.graph.graph import Graph, Labels

MAX_MEMBERSHIPS = 3
MAX_HUB_SHARE = 0.25
"""The largest expected degree, as a share of the vertices."""

_Draw = Callable[[np.random.Generator, int], NDArray[np.int64]]
_ROUNDS = 30
"""Attempts to draw what is still missing."""
_SIZE_DECAY = 0.8
"""Exponent with which the sizes of communities fall with their rank."""


def social_network(
    vertices: int = 2000,
    mean_degree: float = 20,
    communities: int = 12,
    *,
    mixing: float = 0.6,
    exponent: float = 2.5,
    overlap: float = 0.3,
    seed: int = 0,
) -> Graph:
    """Generate a labelled graph that resembles a social network.

    Parameters
    ----------
    vertices : int
        At least four per community.
    mean_degree : float
        From 2 to a quarter of the vertices; the result is within 1% of it.
    communities : int
        Their sizes fall as a power of their rank. Each community is a label.
    mixing : float
        The share of edges that ignore communities, from 0 to 1.
    exponent : float
        The exponent of the power law of expected degrees, above 2; lower means larger hubs.
    overlap : float
        The probability that a vertex joins a second community, and then a third.
    seed : int
        The same seed gives the same graph.

    Examples
    --------
    >>> graph = social_network(vertices=200, mean_degree=10, communities=4, seed=7)
    >>> graph
    Graph(200 vertices, 1,000 edges, 4 labels)
    >>> int(graph.labels.per_vertex.min()), int(graph.labels.per_vertex.max())
    (1, 3)
    """
    _check(vertices, mean_degree, communities, mixing, exponent, overlap, seed)
    rng = np.random.Generator(np.random.PCG64(seed))
    memberships = _memberships(rng, vertices, communities, overlap)
    weights = _weights(rng, vertices, mean_degree, exponent)
    sampler = _Sampler.build(memberships, weights)
    keys = _draw_edges(rng, sampler, round(vertices * mean_degree / 2), mixing)
    source, target = np.divmod(_without_isolated(rng, sampler, keys), vertices)
    names = tuple(f"community-{number}" for number in range(communities))
    return from_edges(source, target, np.arange(vertices), labels=Labels(memberships, names))


@dataclass(frozen=True, slots=True)
class _Sampler:
    """Draws pairs of vertices in proportion to their weights.

    A place is one membership, a vertex in a community; the places of a community are contiguous. `cumulative` sums the
    weights over the places, `begin` and `end` delimit on that scale the community of each place, and `home` is one
    place of each vertex.
    """

    vertices: int
    member: NDArray[np.int64]
    cumulative: NDArray[np.float64]
    begin: NDArray[np.float64]
    end: NDArray[np.float64]
    home: NDArray[np.int64]

    @classmethod
    def build(cls, memberships: "sparse.csr_array[np.uint8]", weights: NDArray[np.float64]) -> "_Sampler":
        """Arrange the members of each community in contiguous places."""
        places = memberships.tocsc()
        member = places.indices.astype(np.int64)
        share = weights / np.diff(memberships.indptr)
        cumulative = np.concatenate(([0.0], np.cumsum(share[member])))
        community = np.repeat(np.arange(places.shape[1]), np.diff(places.indptr))
        begin, end = cumulative[places.indptr[:-1]], cumulative[places.indptr[1:]]
        home = np.empty(len(weights), dtype=np.int64)
        home[member] = np.arange(len(member))
        return cls(len(weights), member, cumulative, begin[community], end[community], home)

    def inside(self, rng: np.random.Generator, count: int) -> NDArray[np.int64]:
        """Keys of random edges with both ends in one community, including self-loops and repeats."""
        first = self._place(rng.random(count) * self.cumulative[-1])
        return self.keys(self.member[first], self.partners(rng, first))

    def anywhere(self, rng: np.random.Generator, count: int) -> NDArray[np.int64]:
        """Keys of random edges that ignore communities."""
        first, second = self._place(rng.random((2, count)) * self.cumulative[-1])
        return self.keys(self.member[first], self.member[second])

    def uniform(self, rng: np.random.Generator, count: int) -> NDArray[np.int64]:
        """Keys of random edges that ignore weights as well."""
        return self.keys(*rng.integers(0, self.vertices, (2, count)))

    def partners(self, rng: np.random.Generator, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """A random member of the community of each place."""
        begin, end = self.begin[places], self.end[places]
        return self.member[self._place(begin + rng.random(len(places)) * (end - begin))]

    def keys(self, u: NDArray[np.int64], v: NDArray[np.int64]) -> NDArray[np.int64]:
        """An integer for each undirected pair."""
        return np.minimum(u, v) * self.vertices + np.maximum(u, v)

    def _place(self, position: NDArray[np.float64]) -> NDArray[np.int64]:
        """The place in which a position on the cumulative scale lies."""
        return np.searchsorted(self.cumulative[1:-1], position, side="right")


def _memberships(
    rng: np.random.Generator, vertices: int, communities: int, overlap: float
) -> "sparse.csr_array[np.uint8]":
    """The communities of each vertex: one to MAX_MEMBERSHIPS."""
    popularity = np.arange(1, communities + 1) ** -_SIZE_DECAY
    choices = rng.choice(communities, size=(vertices, MAX_MEMBERSHIPS), p=popularity / popularity.sum())
    # Every community gets at least two members, which an edge inside it needs.
    choices[rng.permutation(vertices)[: 2 * communities], 0] = np.repeat(np.arange(communities), 2)
    joins = np.ones((vertices, MAX_MEMBERSHIPS), dtype=bool)
    joins[:, 1:] = rng.random((vertices, MAX_MEMBERSHIPS - 1)) < overlap
    rows, columns = np.nonzero(np.logical_and.accumulate(joins, axis=1))
    indicator = sparse.coo_array(
        (np.ones(len(rows), np.uint8), (rows, choices[rows, columns])), shape=(vertices, communities)
    ).tocsr()
    indicator.data[:] = 1
    return indicator


def _weights(rng: np.random.Generator, vertices: int, mean_degree: float, exponent: float) -> NDArray[np.float64]:
    """Expected degrees up to a factor: a Pareto distribution, capped by MAX_HUB_SHARE."""
    weights = (1.0 - rng.random(vertices)) ** (-1.0 / (exponent - 1.0))
    cap = MAX_HUB_SHARE * vertices / mean_degree * weights.mean()
    capped: NDArray[np.float64] = np.minimum(weights, cap)
    return capped


def _draw_edges(rng: np.random.Generator, sampler: _Sampler, target: int, mixing: float) -> NDArray[np.int64]:
    """Keys of `target` distinct edges in random order."""
    keys = np.empty(0, dtype=np.int64)
    keys = _top_up(rng, sampler, keys, round((1 - mixing) * target), sampler.inside)
    keys = _top_up(rng, sampler, keys, target, sampler.anywhere)
    # Edges are still missing here only in dense graphs, whose hubs are already joined to nearly every vertex.
    keys = _top_up(rng, sampler, keys, target, sampler.uniform)
    return rng.permutation(keys)


def _top_up(
    rng: np.random.Generator, sampler: _Sampler, keys: NDArray[np.int64], target: int, draw: _Draw
) -> NDArray[np.int64]:
    """Draw edges until there are `target` of them, for at most _ROUNDS rounds."""
    for _ in range(_ROUNDS):
        missing = target - len(keys)
        if missing <= 0:
            break
        fresh = _fresh(draw(rng, missing + missing // 2 + 16), keys, sampler.vertices)
        keys = np.sort(np.concatenate((keys, rng.permutation(fresh)[:missing])))
    return keys


def _fresh(drawn: NDArray[np.int64], keys: NDArray[np.int64], vertices: int) -> NDArray[np.int64]:
    """The distinct drawn keys, without self-loops and without those in the sorted `keys`."""
    drawn = distinct(np.sort(drawn[drawn // vertices != drawn % vertices]))
    position = np.searchsorted(keys, drawn)
    known = position < len(keys)
    known[known] = keys[position[known]] == drawn[known]
    return drawn[~known]


def _without_isolated(rng: np.random.Generator, sampler: _Sampler, keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give every isolated vertex an edge inside its community, in place of edges drawn last."""
    kept, isolated = keys, _isolated(keys, sampler.vertices)
    # Dropping an edge may isolate further vertices, so repeat until the number of edges fits.
    while len(kept) + len(isolated) > len(keys) and len(isolated) < len(keys):
        kept = keys[: len(keys) - len(isolated)]
        isolated = _isolated(kept, sampler.vertices)
    places = sampler.home[isolated]
    partner = sampler.partners(rng, places)
    self_loop = partner == isolated
    for _ in range(_ROUNDS):
        partner[self_loop] = sampler.partners(rng, places[self_loop])
        self_loop = partner == isolated
    partner[self_loop] = (isolated[self_loop] + 1) % sampler.vertices
    return distinct(np.sort(np.concatenate((kept, sampler.keys(isolated, partner)))))


def _isolated(keys: NDArray[np.int64], vertices: int) -> NDArray[np.int64]:
    """The vertices without an edge."""
    touched = np.zeros(vertices, dtype=bool)
    for ends in np.divmod(keys, vertices):
        touched[ends] = True
    return np.flatnonzero(~touched)


def _check(
    vertices: int,
    mean_degree: float,
    communities: int,
    mixing: float,
    exponent: float,
    overlap: float,
    seed: int,
) -> None:
    """Raise SettingsError for arguments that no graph can satisfy."""
    whole = all(isinstance(value, int | np.integer) for value in (vertices, communities, seed))
    rules = (
        (whole, f"vertices={vertices}, communities={communities}, seed={seed}: must be whole numbers"),
        (communities >= 1, f"communities={communities}: at least 1"),
        (
            vertices >= 4 * communities,
            f"vertices={vertices}: at least four for each of {communities} communities",
        ),
        (vertices <= MAX_VERTICES, f"vertices={vertices}: at most {MAX_VERTICES:,}"),
        (
            2 <= mean_degree <= vertices / 4,
            f"mean_degree={mean_degree}: from 2 to vertices / 4 = {vertices / 4:g}",
        ),
        (0 <= mixing <= 1, f"mixing={mixing}: from 0 to 1"),
        (2 < exponent < np.inf, f"exponent={exponent}: above 2, so that the mean exists"),
        (0 <= overlap <= 1, f"overlap={overlap}: from 0 to 1"),
        (seed >= 0, f"seed={seed}: at least 0"),
    )
    for holds, message in rules:
        if not holds:
            raise SettingsError(f"social_network: {message}")
