"""Measure where the paper is wrong: `python -m fedwalk.experiments.fidelity [--graph GRAPH]`.

Each function below measures one finding of docs/fidelity.md. The attacks are those of `fedwalk audit`: an attack reads
only what its observer sees; the graph is used only to score it.
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from fedwalk.attacks.scoring import score_named, score_pairs
from fedwalk.estimators import FedWalk
from fedwalk.graph import Graph, load_graph, social_network
from fedwalk.protocols.paper.attacks.evidence import device_view, matrix_view, sequence_view
from fedwalk.protocols.paper.attacks.guesses import first_entries, match_rows, only_neighbours
from fedwalk.protocols.paper.attacks.views import MatrixView
from fedwalk.protocols.paper.degree_vectors import DegreeMatrices
from fedwalk.protocols.paper.dissimilarity import cross_dissimilarity
from fedwalk.protocols.paper.predictors import Broadcast, tree
from fedwalk.protocols.paper.walks import expected_hops, printed_theorem_2

Row = tuple[str, str, str]
"""What was measured, what the paper says, what we measure."""


@dataclass(frozen=True)
class Evidence:
    """A finished run of the paper's protocol, and what its server received before the walks."""

    graph: Graph
    model: FedWalk
    view: MatrixView


def gather(graph: Graph, seed: int = 0) -> Evidence:
    """Run the protocol with the paper's ε, k, γ and p. Walks are short because no finding depends on their length."""
    # Isolated vertices take no part; without them, the graph and the model number the vertices alike.
    active, _ = graph.active()
    model = FedWalk(walk_length=3, dim=1, window=1, negative=1, seed=seed)
    model.fit(active)
    return Evidence(active, model, matrix_view(active, model.settings_))


def theorem_2(evidence: Evidence) -> Iterator[Row]:
    """Hops per walk of length 40: the printed closed form, the true solution of its recurrence, and a run."""
    fitted = evidence.model
    for p in (0.0, 0.1, 0.2, 0.3, 0.4):
        model = FedWalk(num_walks=4, predict=p, dim=1, window=1, negative=1, num_bins=fitted.settings_.num_bins)
        # Bins, degree vectors and tree don't depend on p, so those of the finished run are used again.
        model.fit(evidence.graph, bins=fitted.bins_, degree_vectors=fitted.degree_vectors_, tree=fitted.tree_)
        measured = model.walks_.hops_per_walk
        yield (
            f"Theorem 2: hops per walk, l = 40, p = {p}",
            f"{printed_theorem_2(40, p):.3f}",
            f"{expected_hops(40, p):.3f} expected, {measured:.3f} measured",
        )


def tied_rows() -> tuple[float, float]:
    """A counterexample to Theorem 1: the mean excess dissimilarity, and the theorem's bound on it.

    Both vertices have the neighbours (D, 0) and (0, D). The two rows have the same degree, so the noise alone decides
    their order, and half the time the vertices order them differently.
    """
    epsilon, distance, trials = 16.0, 3.0, 4000
    rng = np.random.default_rng(0)
    clean = np.array([[distance, 0.0], [0.0, distance]])
    noised = clean + rng.laplace(scale=1 / epsilon, size=(2 * trials, 2, 2))
    order = np.argsort(noised.sum(axis=2), axis=1, kind="stable")
    rows = np.take_along_axis(noised, order[:, :, None], axis=1).reshape(-1, 2).astype(np.float32)
    matrices = DegreeMatrices(np.arange(0, len(rows) + 1, 2), rows)
    # The first half of the matrices is the one vertex, trial by trial, the second half the other.
    pairs = [cross_dissimilarity(matrices, np.array([i]), np.array([trials + i]))[0, 0] for i in range(trials)]
    # (3, 0) counts three neighbours, so the largest degree in the graph is at least 3.
    return float(np.mean(pairs)), 3 * 2 * distance**2 / (2 * epsilon)


def theorem_1(_: Evidence) -> Iterator[Row]:
    """Noise swaps tied rows half the time, which makes the dissimilarity exceed the bound."""
    excess, bound = tied_rows()
    yield (
        "Theorem 1: excess dissimilarity, rows re-sorted",
        f"at most {bound:.2f}",
        f"{excess:.2f} on average",
    )


def row_matching(evidence: Evidence) -> Iterator[Row]:
    """The server looks up every row of M_v in the dictionary that it broadcast."""
    score = score_pairs(evidence.graph, match_rows(evidence.view))
    yield (
        "Edges that the server reads off the degree matrices",
        "protected by ε",
        f"{score['recall']:.1%} of them, {score['precision']:.1%} of its guesses right",
    )


def degree_one_victims(evidence: Evidence) -> Iterator[Row]:
    """From one broadcast dissimilarity, any device can name the neighbour of a vertex that has only one."""
    score = score_named(evidence.graph, only_neighbours(device_view(evidence.graph, evidence.view)))
    named = f"named for {score['named']:.1%} of {score['victims']} such vertices" if score["victims"] else ""
    yield (
        "Neighbour of a degree-1 vertex, from one dissimilarity",
        "not discussed",
        named or "no such vertex in this graph",
    )


def encoder(evidence: Evidence) -> Iterator[Row]:
    """How often the encoder returns its input unchanged."""
    table, n = evidence.model.encoder_, evidence.graph.vertices
    chances = [table.probabilities(v) for v in range(n)]
    kept = np.array([chances[v][v] for v in range(n)])
    yield (
        "Encoder at ε = 2: vertices returned unchanged with certainty (> 99.9%)",
        "ε-differentially private",
        f"{np.mean(kept > 0.999):.1%}; {np.mean([len(c) for c in chances]):.2f} possible outputs per vertex",
    )


def edges_in_first_entries(evidence: Evidence) -> Iterator[Row]:
    """A walk's first entry is an encoded neighbour of the device where the server started the walk."""
    score = score_pairs(evidence.graph, first_entries(sequence_view(evidence.model.walks_, evidence.graph.vertices)))
    walks = evidence.model.settings_.num_walks
    yield (
        f"Edges shown to the server by first entries alone, γ = {walks}",
        "each encoding costs ε",
        f"{score['recall']:.1%}; {walks * 40:,} encodings per device, none composed",
    )


def pool_precision(graph: Graph, model: FedWalk) -> tuple[float, float]:
    """Which share of a vertex's two-hop pool are its neighbours, mean over the vertices; and the same by chance."""
    pools = tree.prepare(Broadcast(model.bins_, model.degree_vectors_, model.tree_))
    precision, chance = [], []
    for u in range(graph.vertices):
        pool = tree.pool(pools, u)
        if pool:
            precision.append(np.isin(pool, graph.neighbours(u)).mean())
            chance.append(graph.degrees[u] / (graph.vertices - 1))
    return float(np.mean(precision)), float(np.mean(chance))


def pool_neighbours(evidence: Evidence) -> Iterator[Row]:
    """How many of the vertices that the predictor may choose are neighbours of the vertex it predicts from."""
    precision, chance = pool_precision(evidence.graph, evidence.model)
    yield (
        "Vertices in u's two-hop pool that are neighbours of u, mean over u",
        "the closest to u in the tree",
        f"{precision:.1%} (by chance {chance:.1%}); the others are not neighbours of u, and receive a token",
    )


FINDINGS: tuple[Callable[[Evidence], Iterator[Row]], ...] = (
    theorem_2,
    theorem_1,
    row_matching,
    degree_one_victims,
    encoder,
    edges_in_first_entries,
    pool_neighbours,
)


def main() -> None:
    """Print every finding for a graph."""
    parser = argparse.ArgumentParser(prog="python -m fedwalk.experiments.fidelity", description=__doc__.split("\n")[0])
    parser.add_argument("--graph", help="graph file (default: a generated social network of 2,000 vertices)")
    options = parser.parse_args()
    graph = load_graph(options.graph) if options.graph else social_network(seed=0)
    evidence = gather(graph)
    for finding in FINDINGS:
        for what, paper, ours in finding(evidence):
            print(f"{what}\n    paper: {paper}\n    here:  {ours}")


if __name__ == "__main__":
    main()
