"""Protocol `ldp` as a value, which the rest of fedwalk reads."""

from collections.abc import Iterator, Mapping

from fedwalk.errors import SettingsError
from fedwalk.graph.graph import Graph
from fedwalk.privacy.ledger import Release
from fedwalk.protocols.base import Details, Fact, PrivacyStatement, Protocol, SeenDegrees
from fedwalk.protocols.embed import check_steps
from fedwalk.protocols.federated import Federated
from fedwalk.protocols.ldp.attacks.findings import ATTACKS
from fedwalk.protocols.ldp.degree_estimate import estimated_degrees
from fedwalk.protocols.ldp.federated import run
from fedwalk.protocols.ldp.mechanism import MAX_EPSILON, RandomisedResponse, report_release
from fedwalk.protocols.ldp.messages import KINDS, Report, ReportPlan
from fedwalk.protocols.ldp.simulate import RUNTIMES, report_locally, simulate
from fedwalk.protocols.ldp.stages import POSTERIOR, POSTERIOR_POWER, REPORTS, STAGES
from fedwalk.protocols.settings import Settings
from fedwalk.protocols.stages import SKIPGRAM, SPECTRAL, Stages
from fedwalk.protocols.transcript import Transcript
from fedwalk.util.parallel import silent

MIN_EDGE_SHARE = 0.2
"""If fewer of the reported pairs are edges, a note warns about the quality.

BlogCatalog has a share of 0.12 at ε = 3, where micro-F1 is two thirds of what it is without noise.
"""


def check(settings: Settings) -> None:
    """Raise SettingsError for walks without a step, and for an ε outside the mechanism's range."""
    check_steps(settings)
    if settings.epsilon > MAX_EPSILON:
        raise SettingsError(
            f"epsilon = {settings.epsilon:g} with protocol = ldp: must be at most {MAX_EPSILON:g}; above that there is "
            "practically no noise."
        )


def releases(settings: Settings) -> Iterator[tuple[str, Release]]:
    """The one release of a run: each device's report."""
    yield Report.phase, report_release(RandomisedResponse.of(settings.epsilon))


def privacy(settings: Settings, simulated: bool) -> PrivacyStatement:
    """What is proved, and what is not."""
    epsilon = settings.epsilon
    verdict = (
        f"local differential privacy for every edge with ε = {epsilon:g}, proved: whether an edge exists changes the "
        f"probability of all that leaves the devices in the run by a factor of e^{epsilon:g} at most."
    )
    proved = (
        f"For any one edge: all that leaves the devices is at most e^{epsilon:g} times as likely with it as without, "
        "and the other way round, for every observer and any number of walks. Pure ε, no δ; the only parties to trust "
        "are the edge's own two devices.",
        f"For k edges together: k times {epsilon:g}.",
    )
    leaks = [
        "An edge is as safe as the device that reports it: half of a vertex's edges are reported by the other end.",
        f"Up to {epsilon:g} per edge: an observer may still learn that a reported pair is likely an edge.",
        "A whole vertex isn't hidden: with many edges at stake their costs add up.",
        "Who takes part, and how many vertices there are, is public; how long a device takes to answer isn't hidden.",
        "A second run with other noise costs its own ε on top; the same question again costs nothing.",
    ]
    if simulated:
        verdict += (
            " This run is a simulation: its noise comes from the seed, so a party that knows the seed can remove it."
        )
        leaks.append(f"This is a simulation: all noise comes from the seed {settings.seed}, so nothing is hidden here.")
    nominal = ("Nothing is nominal here: ε is the total per edge of the whole run.",)
    return PrivacyStatement(verdict, epsilon=epsilon, nominal=nominal, proved=proved, leaks=tuple(leaks))


def seen_degrees(graph: Graph, settings: Settings) -> SeenDegrees:
    """The degrees that the server estimates from the reports of the run itself."""
    mechanism = RandomisedResponse.of(settings.epsilon)
    plan = ReportPlan(graph.vertices, settings.epsilon)
    counts = report_locally(graph, settings, plan, Transcript(), silent).counts()
    text = "Estimated degrees are what the server computes from the reported pairs; no device sends its degree."
    return SeenDegrees("estimated", estimated_degrees(counts, mechanism.hit, mechanism.flip), text)


def describe(stages: Stages) -> Details:
    """Numbers about the decoded graph."""
    graph = stages.get(POSTERIOR)
    details = {"reported_pairs": graph.weights.size // 2, "expected_edges": float(graph.weights.sum()) / 2}
    if stages.has(POSTERIOR_POWER):
        details["posterior_power"] = stages.get(POSTERIOR_POWER)
    return details


def facts(details: Mapping[str, float]) -> Iterator[Fact]:
    """How many pairs were reported, and how many of them are likely edges."""
    share = details["expected_edges"] / max(1, details["reported_pairs"])
    note = "too few for good vectors; use a larger epsilon (docs/privacy.md)"
    yield Fact(
        "reported pairs",
        f"{details['reported_pairs']:,.0f}, about {share:.0%} of them edges",
        note if share < MIN_EDGE_SHARE else "",
    )


PROTOCOL = Protocol(
    name="ldp",
    title="Protocol ldp, with proved edge privacy",
    summary="proved privacy: epsilon is the total per edge of the whole run",
    reads=("epsilon", "budget", "embed", "walk_length", "num_walks", "dim", "window", "negative", "seed", "threads",
           "runtime"),
    stages=STAGES,
    releases=releases,
    privacy=privacy,
    simulate=simulate,
    check=check,
    embeddings=(SPECTRAL.name, SKIPGRAM.name),
    runtimes=tuple(RUNTIMES),
    # Whether a neighbour list is empty is as private as its content, so isolated vertices report, too.
    isolated_take_part=True,
    messages=KINDS,
    attacks=ATTACKS,
    seen_degrees=seen_degrees,
    describe=describe,
    facts=facts,
    federated=Federated(
        phases=(REPORTS.name,), run=run, allowed_by_default=True, report_plan=ReportPlan, usual_epsilon=6.0
    ),
)  # fmt: skip
