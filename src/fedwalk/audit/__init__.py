"""Audits: run a protocol, then attack it as each of its observers could, and measure ε.

The steps: a simulated run → views, one per observer → guesses → scores against the true graph → findings. The
attacks are in `protocols/<name>/attacks/`; what they share is in `fedwalk.attacks`.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

from fedwalk import __version__
from fedwalk.attacks.canaries import CANARY_ATTACK
from fedwalk.attacks.epsilon import CONFIDENCE
from fedwalk.attacks.finding import Finding, metrics_text
from fedwalk.attacks.vectors import find_links
from fedwalk.errors import SettingsError
from fedwalk.graph import Graph
from fedwalk.privacy.ledger import or_unbounded
from fedwalk.protocols.base import AuditTarget
from fedwalk.protocols.registry import find_protocol
from fedwalk.run.execute import Run, participants, run
from fedwalk.run.stages import StageProgress, StageRunner
from fedwalk.settings import Settings

__all__ = ["CANARIES", "REPEATS", "Audit", "Finding", "audit", "metrics_text"]

CANARIES, REPEATS = 20_000, 2_000
"""Enough for a bound within a few percent of the true ε, up to ε = 6."""


@dataclass(frozen=True, slots=True, eq=False)
class Audit:
    """A run that was attacked, and all findings about it."""

    graph: Graph
    run: Run
    findings: tuple[Finding, ...]

    @property
    def epsilon(self) -> float | None:
        """The lower bound on ε from one run's canaries; None if no attack of the protocol measures it.

        Not the largest of several bounds: that one would hold with less confidence than each.
        """
        return next((f.success.get("epsilon") for f in self.findings if f.attack == CANARY_ATTACK), None)

    def as_dict(self) -> dict[str, Any]:
        """For JSON: what `audit.json` holds."""
        return {
            "fedwalk": __version__,
            "simulation": True,
            "protocol": self.run.settings.protocol,
            "graph": {"vertices": self.graph.vertices, "edges": self.graph.edges,
                      "fingerprint": self.graph.fingerprint()},
            "settings": self.run.settings.as_dict(),
            "confidence": CONFIDENCE,
            "epsilon": {"at_least": self.epsilon, "ledger": or_unbounded(self.run.ledger.per_edge)},
            "findings": [finding.as_dict() for finding in self.findings],
        }  # fmt: skip


def audit(
    graph: Graph,
    settings: Settings,
    *,
    canaries: int = CANARIES,
    repeats: int = REPEATS,
    on_progress: StageProgress | None = None,
) -> Audit:
    """Run the protocol and every attack on it.

    Parameters
    ----------
    graph, settings
        What to run. The same graph, settings and seed give the same messages as in an earlier run.
    canaries
        The number of pairs planted to measure ε in one run; all pairs if there are fewer.
    repeats
        Runs of one device with an edge, and as many without, in attacks that repeat a device.
    on_progress
        Called with (stage, done, total).

    Examples
    --------
    >>> import fedwalk
    >>> network = fedwalk.social_network(vertices=80, mean_degree=6, communities=3, seed=1)
    >>> small = fedwalk.Settings(num_walks=2, walk_length=5, dim=4, threads=1)
    >>> result = audit(network, small)
    >>> result.findings[0].attack, metrics_text(result.findings[0].success)
    ('matrix rows', '100% of edges, 100% right')
    >>> result.epsilon > small.epsilon
    True
    """
    for name, value in (("canaries", canaries), ("repeats", repeats)):
        if value < 1:
            raise SettingsError(f"{name} = {value}: must be at least 1.")
    stages = StageRunner(on_progress=on_progress)
    finished = run(graph, settings, stages)
    # The attacks need the values that the run used where the caller left a default open, e.g. k.
    settings = finished.settings
    # Views and guesses number only the vertices that take part, so the truth is numbered in the same way.
    active, taking_part = participants(graph, settings)
    vectors = finished.embedding.vectors[taking_part]
    target = AuditTarget(active, settings, stages, finished.ledger.per_edge, canaries, repeats)
    findings: list[Finding] = []
    for name, attack in find_protocol(settings.protocol).attacks.items():
        stages.announce(name, 0, 1)
        findings.extend(attack(target, partial(stages.announce, name)))
        stages.announce(name, 1, 1)
    # Not in the list of any protocol: it reads nothing but the vectors, so it applies to all of them.
    stages.announce("links", 0, 1)
    findings.extend(find_links(active, vectors, settings.protocol, settings.seed))
    stages.announce("links", 1, 1)
    return Audit(graph, finished, tuple(findings))
