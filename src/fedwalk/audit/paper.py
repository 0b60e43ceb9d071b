"""The attacks on protocol `paper`, each scored: what docs/fidelity.md says of it, measured on one run."""

from collections.abc import Iterator

from fedwalk.audit.canaries import bound_of, guess_from_matrices, plant
from fedwalk.audit.dissimilarity import only_neighbours
from fedwalk.audit.epsilon import CONFIDENCE
from fedwalk.audit.evidence import device_view, heard, matrix_view, relay_view, sequence_view
from fedwalk.audit.finding import Finding
from fedwalk.audit.pairs import Pairs
from fedwalk.audit.rows import match_rows
from fedwalk.audit.scoring import score_at_random, score_named, score_pairs, score_ranks
from fedwalk.audit.sequences import consecutive_entries, first_entries
from fedwalk.audit.traffic import contacts, volumes
from fedwalk.audit.views import MatrixView, View
from fedwalk.graph import Graph
from fedwalk.kernels.threads import Report
from fedwalk.pipeline import Run

FREQUENT = "The same, but only the most frequent pairs, as many as there are edges: strangers seldom meet twice."


def rows(graph: Graph, run: Run, _: Report) -> Iterator[Finding]:
    """Row matching, by the server."""
    view = matrix_view(graph, run.settings)
    said = "The server looks every row of every degree matrix up among the vectors that it broadcast itself."
    yield _pairs_finding("matrix rows", graph, view, match_rows(view), said)


def dissimilarity(graph: Graph, run: Run, _: Report) -> Iterator[Finding]:
    """The only neighbour of a vertex of degree 1, by any device."""
    view = device_view(graph, matrix_view(graph, run.settings))
    success = score_named(graph, only_neighbours(view))
    baseline = {"named": 1 / (graph.vertices - 1)} if success["victims"] else {}
    said = (
        f"{success['victims']:,} vertices have one neighbour. Any device could name it from one dissimilarity, had the "
        "matrix been broadcast as the paper says; here devices receive the encoder's sparse table in its place."
    )
    yield Finding.of("dissimilarity", "paper", view, success, baseline, said)


def first(graph: Graph, run: Run, _: Report) -> Iterator[Finding]:
    """First entries, by the server."""
    view = sequence_view(run)
    said = f"The first entry of a walk stands for a neighbour of its start; {run.settings.walks:,} walks from each."
    yield _pairs_finding("first entries", graph, view, first_entries(view), said)


def sequences(graph: Graph, run: Run, _: Report) -> Iterator[Finding]:
    """Whole sequences, by the server."""
    view = sequence_view(run)
    said = "Entries that follow each other are taken for neighbours; predicted strangers are the wrong guesses."
    guesses = consecutive_entries(view)
    yield _pairs_finding("whole walks", graph, view, guesses, said)
    yield _pairs_finding("top steps", graph, view, guesses[: graph.edges], FREQUENT)


def traffic(graph: Graph, run: Run, report: Report) -> Iterator[Finding]:
    """Who contacts whom, by whoever carries the tokens."""
    view, part = relay_view(graph, run, report), heard(run)
    said = (
        f"Devices that exchange a token are taken for neighbours. Heard: {part.walks:,} of {run.settings.walks:,} "
        f"rounds of walks, {part.walk_length} of {run.settings.walk_length} entries each."
    )
    guesses = contacts(view)
    yield _pairs_finding("contacts", graph, view, guesses, said)
    yield _pairs_finding("top contacts", graph, view, guesses[: graph.edges], FREQUENT)
    said = (
        "The number of tokens that a device sends and receives, beside its degree. Encryption doesn't hide it: the "
        "traffic of a holder with one device shows its degree, and the addresses of its peers show its neighbours."
    )
    ranks = score_ranks(volumes(view, graph.vertices), graph.degrees)
    yield Finding.of("traffic volume", "paper", view, ranks, {"rank_correlation": 0.0}, said)


def canaries(graph: Graph, run: Run, _: Report, count: int) -> Iterator[Finding]:
    """The one-run audit with row matching as its guesser."""
    settings = run.settings
    planted = plant(graph, count, settings.seed)
    bound = bound_of(guess_from_matrices(planted, settings), planted)
    refuted = bound.epsilon > settings.epsilon
    said = (
        f"{bound.right:,} of {bound.guesses:,} canary pairs guessed right by row matching, so ε is at least "
        f"{bound.epsilon:.2f} ({CONFIDENCE:.0%} confidence): the nominal {settings.epsilon:g} is "
        f"{'refuted' if refuted else 'not refuted by so few'}. The bound grows with the number of canaries."
    )
    success = {"epsilon": bound.epsilon, "right": bound.right, "guesses": bound.guesses}
    yield Finding.of("canaries", "paper", MatrixView, success, {"nominal": settings.epsilon}, said)


def _pairs_finding(attack: str, graph: Graph, view: View, guesses: Pairs, said: str) -> Finding:
    success, baseline = score_pairs(graph, guesses), score_at_random(graph, len(guesses))
    return Finding.of(attack, "paper", view, success, baseline, said)
