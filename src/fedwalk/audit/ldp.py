"""The attacks on protocol `ldp`, each scored, and two measurements of its ε."""

from collections.abc import Iterator

from fedwalk.audit.canaries import Bound, bound_of, guess_from_lists, plant
from fedwalk.audit.epsilon import CONFIDENCE
from fedwalk.audit.evidence import list_view, relay_view
from fedwalk.audit.finding import Finding
from fedwalk.audit.lists import most_likely, most_that_epsilon_allows, reported_pairs
from fedwalk.audit.repeats import repeat_pair
from fedwalk.audit.scoring import density, score_at_random, score_pairs
from fedwalk.audit.traffic import contacts
from fedwalk.audit.views import ListView
from fedwalk.graph import Graph
from fedwalk.kernels.threads import Report
from fedwalk.pipeline import Run


def lists(graph: Graph, run: Run, _: Report) -> Iterator[Finding]:
    """The reported pairs as they are, by the server."""
    view, epsilon = list_view(graph, run.settings), run.settings.epsilon
    limit = most_that_epsilon_allows(epsilon, density(graph))
    said = (
        "Every reported pair is taken for an edge. About a pair of which nothing else is known, "
        f"ε = {epsilon:g} allows {limit:.1%} right guesses on average, and randomised response reaches that."
    )
    success, baseline = score_pairs(graph, reported_pairs(view)), {"precision": density(graph), "limit": limit}
    yield Finding.of("reported pairs", "ldp", view, success, baseline, said)


def posterior(graph: Graph, run: Run, _: Report) -> Iterator[Finding]:
    """The decoder's most likely pairs, by the server."""
    decoded = run.stages.get("posterior")
    guesses = most_likely(decoded, round(float(decoded.weights.sum()) / 2))
    said = (
        "As many pairs as the decoder expects edges, those that it finds most likely. It knows more than a report: the "
        "structure of all reports together, which ε doesn't hide; ε bounds what one edge adds."
    )
    success, baseline = score_pairs(graph, guesses), score_at_random(graph, len(guesses))
    yield Finding.of("most likely", "ldp", ListView, success, baseline, said)


def traffic(graph: Graph, run: Run, report: Report) -> Iterator[Finding]:
    """Who contacts whom: nobody."""
    view = relay_view(graph, run, report)
    said = "No device sends another anything: the walks are the server's own."
    yield Finding.of("contacts", "ldp", view, score_pairs(graph, contacts(view)), {}, said)


def canaries(graph: Graph, run: Run, _: Report, count: int) -> Iterator[Finding]:
    """The one-run audit."""
    planted = plant(graph, count, run.settings.seed)
    bound = bound_of(guess_from_lists(planted, run.settings), planted)
    said = f"{bound.right:,} of {bound.guesses:,} canary pairs guessed right from one run's reports"
    yield _epsilon_finding("canaries", run, bound, said)


def repeats(graph: Graph, run: Run, _: Report, count: int) -> Iterator[Finding]:
    """The audit over repeats of one device."""
    view = list_view(graph, run.settings)
    low, high = plant(graph, 1, run.settings.seed).pairs[0].tolist()
    bound = repeat_pair(graph, (low, high), view.plan, count, run.settings.seed)
    said = f"{bound.right:,} of {bound.guesses:,} runs of one device guessed right, half of them with the edge"
    yield _epsilon_finding("one pair again", run, bound, said)


def _epsilon_finding(attack: str, run: Run, bound: Bound, said: str) -> Finding:
    """A bound beside the ledger's ε; one above it is no proof yet, and the sentence says so."""
    proved = run.ledger.per_edge
    verdict = (
        f"within the ledger's {proved:g}"
        if bound.epsilon <= proved
        else f"above the ledger's {proved:g}. A sound device shows this in one audit of twenty: audit with other "
        "seeds; if it stays above, the device is broken"
    )
    sentence = f"{said}, so ε is at least {bound.epsilon:.2f} ({CONFIDENCE:.0%} confidence): {verdict}."
    success = {"epsilon": bound.epsilon, "right": bound.right, "guesses": bound.guesses}
    return Finding.of(attack, "ldp", ListView, success, {"ledger": proved}, sentence)
