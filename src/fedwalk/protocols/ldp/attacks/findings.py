"""The attacks on protocol `ldp`, each scored, and two measurements of its ε."""

from collections.abc import Iterator

from fedwalk.attacks.canaries import CANARY_ATTACK, Bound, Canaries, Guesses, as_guesses, bound_of, plant
from fedwalk.attacks.epsilon import CONFIDENCE
from fedwalk.attacks.finding import Finding
from fedwalk.attacks.scoring import density, score_at_random, score_pairs
from fedwalk.graph.graph import Graph
from fedwalk.protocols.base import Attack, AuditTarget
from fedwalk.protocols.ldp.attacks.guesses import (
    NetworkView,
    ReportView,
    are_reported,
    max_precision,
    most_likely,
    reported_pairs,
)
from fedwalk.protocols.ldp.attacks.repeats import repeat_pair
from fedwalk.protocols.ldp.messages import ReportPlan
from fedwalk.protocols.ldp.simulate import report_locally
from fedwalk.protocols.ldp.stages import POSTERIOR
from fedwalk.protocols.settings import Settings
from fedwalk.protocols.transcript import Transcript
from fedwalk.util.parallel import Progress, silent
from fedwalk.util.text import counted


def report_view(graph: Graph, settings: Settings) -> ReportView:
    """Every device's report, as a simulated run with these settings draws it."""
    plan = ReportPlan(graph.vertices, settings.epsilon)
    return ReportView(plan, report_locally(graph, settings, plan, Transcript(), silent))


def guess_canaries(canaries: Canaries, settings: Settings) -> Guesses:
    """Guess that a canary is an edge if it was reported."""
    return as_guesses(are_reported(report_view(canaries.graph, settings), canaries.pairs))


def reported(target: AuditTarget, _: Progress) -> Iterator[Finding]:
    """The reported pairs as they are, by the server."""
    view, epsilon = report_view(target.graph, target.settings), target.settings.epsilon
    limit = max_precision(epsilon, density(target.graph))
    said = (
        "Every reported pair is taken for an edge. About a pair of which nothing else is known, "
        f"ε = {epsilon:g} allows {limit:.1%} right guesses on average, and randomised response reaches that."
    )
    success = score_pairs(target.graph, reported_pairs(view))
    baseline = {"precision": density(target.graph), "limit": limit}
    yield Finding.of("reported pairs", target.settings.protocol, view, success, baseline, said)


def decoded(target: AuditTarget, _: Progress) -> Iterator[Finding]:
    """The decoder's most likely pairs, by the server."""
    posterior = target.stages.get(POSTERIOR)
    guesses = most_likely(posterior, round(float(posterior.weights.sum()) / 2))
    said = (
        "As many pairs as the decoder expects edges, those that it finds most likely. It uses all reports together: ε "
        "doesn't hide the structure that they share; it bounds what one edge adds."
    )
    success, baseline = score_pairs(target.graph, guesses), score_at_random(target.graph, len(guesses))
    yield Finding.of("most likely", target.settings.protocol, ReportView, success, baseline, said)


def traffic(target: AuditTarget, _: Progress) -> Iterator[Finding]:
    """Which device contacts which, by the network: none contacts another."""
    said = "No device sends a message to another device: the server walks alone, over the decoded graph."
    view = NetworkView.nothing()
    success = score_pairs(target.graph, view.contacts)
    yield Finding.of("contacts", target.settings.protocol, view, success, {}, said)


def canaries(target: AuditTarget, _: Progress) -> Iterator[Finding]:
    """The one-run audit."""
    planted = plant(target.graph, target.canaries, target.settings.seed)
    bound = bound_of(guess_canaries(planted, target.settings), planted)
    said = f"{bound.right:,} of {bound.guesses:,} canary pairs guessed right from one run's reports"
    yield _epsilon_finding(CANARY_ATTACK, target, bound, said)


def repeats(target: AuditTarget, _: Progress) -> Iterator[Finding]:
    """The audit over repeated runs of one device."""
    graph, seed = target.graph, target.settings.seed
    low, high = plant(graph, 1, seed).pairs[0].tolist()
    plan = ReportPlan(graph.vertices, target.settings.epsilon)
    bound = repeat_pair(graph, (low, high), plan, target.repeats, seed)
    runs = counted(bound.guesses, "run", "runs")
    said = f"{bound.right:,} of {runs} of one device guessed right, half of them with the edge"
    yield _epsilon_finding("one pair again", target, bound, said)


def _epsilon_finding(attack: str, target: AuditTarget, bound: Bound, said: str) -> Finding:
    """The bound compared with the ledger's ε. A bound above it isn't a proof of a fault, and the sentence says so."""
    proved = target.epsilon
    verdict = (
        f"within the ledger's {proved:g}"
        if bound.epsilon <= proved
        else f"above the ledger's {proved:g}. A correct device shows this in at most one of twenty audits: audit with "
        "other seeds; if it stays above, the device is faulty"
    )
    sentence = f"{said}, so ε is at least {bound.epsilon:.2f} ({CONFIDENCE:.0%} confidence): {verdict}."
    success = {"epsilon": bound.epsilon, "right": bound.right, "guesses": bound.guesses}
    return Finding.of(attack, target.settings.protocol, ReportView, success, {"ledger": proved}, sentence)


ATTACKS: dict[str, Attack] = {
    "reported": reported, "decoded": decoded, "traffic": traffic, CANARY_ATTACK: canaries, "repeats": repeats,
}  # fmt: skip
