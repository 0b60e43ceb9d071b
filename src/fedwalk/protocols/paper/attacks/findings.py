"""The attacks on protocol `paper`, scored on one run. They measure the leaks that docs/fidelity.md describes."""

from collections.abc import Iterator

from fedwalk.attacks.canaries import CANARY_ATTACK, bound_of, plant
from fedwalk.attacks.epsilon import CONFIDENCE
from fedwalk.attacks.finding import Finding, View
from fedwalk.attacks.scoring import score_at_random, score_named, score_pairs, score_ranks
from fedwalk.graph.pairs import Pairs
from fedwalk.protocols.base import Attack, AuditTarget
from fedwalk.protocols.paper.attacks.evidence import (
    device_view,
    guess_canaries,
    matrix_view,
    recorded_settings,
    relay_view,
    sequence_view,
)
from fedwalk.protocols.paper.attacks.guesses import (
    consecutive_entries,
    contacts,
    first_entries,
    match_rows,
    only_neighbours,
    volumes,
)
from fedwalk.protocols.paper.attacks.views import MatrixView
from fedwalk.protocols.stages import WALKS
from fedwalk.util.parallel import Progress
from fedwalk.util.text import counted

FREQUENT = "The same, but only the most frequent pairs, as many as there are edges: wrong pairs rarely occur twice."


def rows(target: AuditTarget, _: Progress) -> Iterator[Finding]:
    """Row matching, by the server."""
    view = matrix_view(target.graph, target.settings)
    said = "The server looks every row of every degree matrix up among the vectors that it broadcast itself."
    yield _pairs_finding(target, "matrix rows", view, match_rows(view), said)


def dissimilarity(target: AuditTarget, _: Progress) -> Iterator[Finding]:
    """The only neighbour of a vertex of degree 1, by any device."""
    view = device_view(target.graph, matrix_view(target.graph, target.settings))
    success = score_named(target.graph, only_neighbours(view))
    baseline = {"named": 1 / (target.graph.vertices - 1)} if success["victims"] else {}
    said = (
        f"{counted(int(success['victims']), 'vertex has', 'vertices have')} one neighbour. Any device could name it "
        "from one dissimilarity, if the matrix were broadcast as the paper says; here devices receive the encoder's "
        "sparse table instead."
    )
    yield Finding.of("dissimilarity", target.settings.protocol, view, success, baseline, said)


def first(target: AuditTarget, _: Progress) -> Iterator[Finding]:
    """First entries, by the server."""
    view = sequence_view(target.stages.get(WALKS), target.graph.vertices)
    said = (
        "The first entry of a walk is a neighbour of its start, encoded; "
        f"{counted(target.settings.num_walks, 'walk', 'walks')} from each."
    )
    yield _pairs_finding(target, "first entries", view, first_entries(view), said)


def sequences(target: AuditTarget, _: Progress) -> Iterator[Finding]:
    """Whole sequences, by the server."""
    view = sequence_view(target.stages.get(WALKS), target.graph.vertices)
    said = "Consecutive entries are taken for neighbours; wrong where the predictor jumped to another vertex."
    guesses = consecutive_entries(view)
    yield _pairs_finding(target, "whole walks", view, guesses, said)
    yield _pairs_finding(target, "top steps", view, guesses[: target.graph.edges], FREQUENT)


def traffic(target: AuditTarget, on_progress: Progress) -> Iterator[Finding]:
    """Which device contacts which, by the network that carries the tokens."""
    view, part = relay_view(target, on_progress), recorded_settings(target)
    said = (
        f"Devices that exchange a token are taken for neighbours. Recorded: {part.num_walks:,} of "
        f"{counted(target.settings.num_walks, 'round', 'rounds')} of walks, {part.walk_length} of "
        f"{counted(target.settings.walk_length, 'entry', 'entries')} each."
    )
    guesses = contacts(view)
    yield _pairs_finding(target, "contacts", view, guesses, said)
    yield _pairs_finding(target, "top contacts", view, guesses[: target.graph.edges], FREQUENT)
    said = (
        "The number of tokens that a device sends and receives, beside its degree. Encryption doesn't hide it: the "
        "traffic of a holder with one device shows its degree, and the addresses of its peers show its neighbours."
    )
    ranks = score_ranks(volumes(view, target.graph.vertices), target.graph.degrees)
    yield Finding.of("traffic volume", target.settings.protocol, view, ranks, {"rank_correlation": 0.0}, said)


def canaries(target: AuditTarget, _: Progress) -> Iterator[Finding]:
    """The one-run audit with row matching as its guesser."""
    settings = target.settings
    planted = plant(target.graph, target.canaries, settings.seed)
    bound = bound_of(guess_canaries(planted, settings), planted)
    refuted = bound.epsilon > settings.epsilon
    said = (
        f"{bound.right:,} of {bound.guesses:,} canary pairs guessed right by row matching, so ε is at least "
        f"{bound.epsilon:.2f} ({CONFIDENCE:.0%} confidence): the nominal {settings.epsilon:g} is "
        f"{'refuted' if refuted else 'not refuted by so few'}. The bound grows with the number of canaries."
    )
    success = {"epsilon": bound.epsilon, "right": bound.right, "guesses": bound.guesses}
    yield Finding.of(CANARY_ATTACK, settings.protocol, MatrixView, success, {"nominal": settings.epsilon}, said)


def _pairs_finding(target: AuditTarget, attack: str, view: View, guesses: Pairs, said: str) -> Finding:
    success, baseline = score_pairs(target.graph, guesses), score_at_random(target.graph, len(guesses))
    return Finding.of(attack, target.settings.protocol, view, success, baseline, said)


ATTACKS: dict[str, Attack] = {
    "rows": rows, "victims": dissimilarity, "first": first, "sequences": sequences, "traffic": traffic,
    CANARY_ATTACK: canaries,
}  # fmt: skip
