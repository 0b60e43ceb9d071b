"""Audits: attacks that read only what an observer sees, and lower bounds on ε from canaries.

The way through: a run of the protocol → views, one per observer (`evidence`) → attacks, which take a view and return
guesses (`rows`, `dissimilarity`, `sequences`, `traffic`, `lists`, `embedding`) → scores against the true graph
(`scoring`) → findings (`paper`, `ldp`, `published`). No attack module knows what a graph is.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from fedwalk import __version__
from fedwalk.audit import ldp, paper, published
from fedwalk.audit.epsilon import CONFIDENCE
from fedwalk.audit.finding import Finding, metrics_text
from fedwalk.errors import SettingsError
from fedwalk.graph import Graph
from fedwalk.kernels.threads import Report
from fedwalk.pipeline import Run, participants, run
from fedwalk.privacy.ledger import spoken
from fedwalk.settings import Settings
from fedwalk.stages import Progress, Stages

__all__ = ["CANARIES", "REPEATS", "Audit", "Finding", "audit", "metrics_text"]

CANARIES, REPEATS = 20_000, 2_000
"""Enough to come within a few percent of any ε up to 6."""

Attack = Callable[[Graph, Run, Report], Iterator[Finding]]


@dataclass(frozen=True, slots=True, eq=False)
class Audit:
    """All findings about a run, and what its ledger says."""

    graph: Graph
    run: Run
    findings: tuple[Finding, ...]

    @property
    def epsilon(self) -> float | None:
        """The lower bound on ε from one run's canaries; None where no ε is spoken of.

        Not the largest of several bounds: that one would hold with less confidence than each.
        """
        return next((f.success["epsilon"] for f in self.findings if f.attack == "canaries"), None)

    def as_dict(self) -> dict[str, Any]:
        """For JSON: what `audit.json` holds."""
        return {
            "fedwalk": __version__,
            "simulation": True,
            "protocol": self.run.settings.protocol,
            "graph": {"vertices": self.graph.vertices, "edges": self.graph.edges,
                      "fingerprint": self.graph.fingerprint()},
            "settings": asdict(self.run.settings),
            "confidence": CONFIDENCE,
            "epsilon": {"at_least": self.epsilon, "ledger": spoken(self.run.ledger.per_edge)},
            "findings": [finding.as_dict() for finding in self.findings],
        }  # fmt: skip


def audit(
    graph: Graph,
    settings: Settings,
    *,
    canaries: int = CANARIES,
    repeats: int = REPEATS,
    progress: Progress | None = None,
) -> Audit:
    """Run the protocol and attack it in every way there is.

    Parameters
    ----------
    graph, settings
        What to run. The same settings and graph give the same messages as a run before did.
    canaries
        Pairs that are planted to measure ε in one run; all pairs if there are fewer.
    repeats
        Runs of one device with an edge, and as many without (`ldp`).
    progress
        Called with (stage, done, total).

    Examples
    --------
    >>> import fedwalk
    >>> network = fedwalk.social_network(vertices=80, mean_degree=6, communities=3, seed=1)
    >>> small = fedwalk.Settings(walks=2, walk_length=5, dim=4, threads=1)
    >>> found = audit(network, small)
    >>> found.findings[0].attack, metrics_text(found.findings[0].success)
    ('matrix rows', '100% found, 100% right')
    >>> found.epsilon > small.epsilon
    True
    """
    for name, value in (("canaries", canaries), ("repeats", repeats)):
        if value < 1:
            raise SettingsError(f"{name} = {value}: at least 1.")
    stages = Stages(progress=progress)
    finished = run(graph, settings, stages)
    active, _ = participants(graph, finished.settings)
    findings: list[Finding] = []
    for name, attack in _attacks(finished.settings.protocol, canaries, repeats).items():
        stages.report(name, 0, 1)
        findings.extend(attack(active, finished, partial(stages.report, name)))
        stages.report(name, 1, 1)
    return Audit(graph, finished, tuple(findings))


def _attacks(protocol: str, canaries: int, repeats: int) -> dict[str, Attack]:
    """The attacks on a protocol by the name of their bar, in the order of the table."""
    found: dict[str, Attack] = {}
    if protocol == "paper":
        found = {"rows": paper.rows, "victims": paper.dissimilarity, "first": paper.first,
                 "sequences": paper.sequences, "traffic": paper.traffic,
                 "canaries": partial(paper.canaries, count=canaries)}  # fmt: skip
    elif protocol == "ldp":
        found = {"reported": ldp.lists, "decoded": ldp.posterior, "traffic": ldp.traffic,
                 "canaries": partial(ldp.canaries, count=canaries),
                 "repeats": partial(ldp.repeats, count=repeats)}  # fmt: skip
    return {**found, "links": published.links}
