"""What a protocol is: one value with everything that the rest of fedwalk needs to know about it.

The layers above (runs, ledger, audit, report, command line, federation) never compare a protocol's name. They read its
value: which settings it reads, which stages it has, what it releases, how it is simulated, what observers see, which
attacks there are, and what is known about its privacy. Ours are in `paper/`, `ldp/` and `deepwalk/`; others are
found through the entry point group `fedwalk.protocols` (`registry.py`). docs/extending.md builds one step by step.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedwalk.attacks.finding import Finding
from fedwalk.graph import Graph
from fedwalk.privacy.ledger import Release
from fedwalk.protocols.federated import Federated
from fedwalk.protocols.messages import Message
from fedwalk.protocols.settings import Setting, Settings
from fedwalk.protocols.stages import SKIPGRAM, Stage, Stages, Vectors
from fedwalk.util.parallel import Progress

Details = dict[str, float]
"""Numbers by name that only this protocol has, for run.json."""


@dataclass(frozen=True, slots=True)
class PrivacyStatement:
    """What a run says about its privacy: no more than is proved.

    Parameters
    ----------
    verdict
        One or two sentences, for run.json and the end of the ledger.
    epsilon
        The proved total ε per edge of one run; None if nothing is proved.
    nominal_epsilon
        An ε that only scales noise; None if there is none.
    nominal, proved, leaks
        The three lists of the HTML report's privacy box, a sentence each.
    """

    verdict: str
    epsilon: float | None = None
    nominal_epsilon: float | None = None
    nominal: tuple[str, ...] = ()
    proved: tuple[str, ...] = ()
    leaks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fact:
    """A number of a run in words: a line of the command's output and a card of the HTML report."""

    name: str
    text: str
    note: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class SeenDegrees:
    """The degrees as the server of a simulated run could estimate them, for the HTML report."""

    name: str
    degrees: NDArray[np.float64]
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class AuditTarget:
    """A finished simulated run that is to be attacked.

    `graph` has only the vertices that took part, numbered as the parties number them. It serves to score guesses and
    to plant canaries; an attack makes its guesses from a view of what its observer received.
    """

    graph: Graph
    settings: Settings
    stages: Stages
    epsilon: float
    canaries: int
    repeats: int


Attack = Callable[[AuditTarget, Progress], Iterator[Finding]]


def _accept(settings: Settings) -> None:
    """Accept any settings."""


def _unchanged(settings: Settings, vertices: int) -> Settings:
    return settings


def _no_notes(settings: Settings, vertices: int) -> tuple[str, ...]:
    return ()


def _no_details(stages: Stages) -> Details:
    return {}


def _no_facts(details: Mapping[str, float]) -> tuple[Fact, ...]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """A protocol: how vectors are computed from neighbour lists, and everything that fedwalk needs to know about it.

    Parameters
    ----------
    name
        What `--protocol` calls it.
    title, summary
        For the HTML report, and for `--help`: a line each.
    reads
        The names of those `Settings` that change what it does.
    stages
        All stages that `simulate` may run, in order. Their names and files must differ: a run folder stores each under
        its own.
    releases
        Settings → what a run releases, by phase, for the ledger. Entered before the run sends anything.
    release_settings
        The shared settings besides seed and ε that a release depends on: with another value, it is a new release. It
        always depends on the protocol's own settings, which may be named here as well.
    privacy
        (settings, simulated) → what a run says about its privacy.
    simulate
        (graph, settings, stages) → a vector for each vertex of the graph. Runs every stage through `stages`.
    settings
        Settings of its own, which no other protocol has.
    check
        Raises SettingsError for settings that contradict each other.
    resolve
        (settings, number of vertices) → settings with everything decided that was left open.
    notes
        (resolved settings, number of vertices that take part) → what is unusual about a run, without being an error.
    embeddings, runtimes
        The values of `embed` and `runtime` that it supports. The first of `embeddings` is the default; `runtimes` must
        have `local`, which is the default of every protocol.
    isolated_take_part
        Whether vertices without neighbours take part; otherwise they get the zero vector.
    uses_weights
        Whether the weights of a graph's edges change what it does; otherwise a run on a weighted graph says that they
        are ignored.
    centralised
        Whether one party holds the whole graph, as in a baseline.
    accepts
        Which of the stages that `FedWalk.fit` has arguments for (bins, degree vectors, tree, walks) a Python caller may
        pass in instead of having them computed.
    tree
        The stage whose value is a clustering tree, as `paper.tree.Tree`, which a run writes to tree.npz.
    messages
        Its kinds of messages, in the order in which they are sent.
    attacks
        By the name of its progress bar, in the order of the audit's table.
    expected_hops
        Settings → how often a walk is sent to another device, on average; None if walks aren't sent.
    seen_degrees
        (graph, settings) → the degrees that the server of a simulated run could estimate.
    describe, facts
        Stages → numbers for run.json; these numbers → lines for people.
    federated
        How it runs over holders on their own machines; None if it can't.
    """

    name: str
    title: str
    summary: str
    reads: tuple[str, ...]
    stages: tuple[Stage[Any], ...]
    releases: Callable[[Settings], Iterable[tuple[str, Release]]]
    privacy: Callable[[Settings, bool], PrivacyStatement]
    simulate: Callable[[Graph, Settings, Stages], Vectors]
    release_settings: tuple[str, ...] = ()
    settings: tuple[Setting, ...] = ()
    check: Callable[[Settings], None] = _accept
    resolve: Callable[[Settings, int], Settings] = _unchanged
    notes: Callable[[Settings, int], Iterable[str]] = _no_notes
    embeddings: tuple[str, ...] = (SKIPGRAM.name,)
    runtimes: tuple[str, ...] = ("local",)
    isolated_take_part: bool = False
    uses_weights: bool = False
    centralised: bool = False
    accepts: tuple[Stage[Any], ...] = ()
    tree: Stage[Any] | None = None
    messages: tuple[type[Message], ...] = ()
    attacks: Mapping[str, Attack] = field(default_factory=dict)
    expected_hops: Callable[[Settings], float] | None = None
    seen_degrees: Callable[[Graph, Settings], SeenDegrees] | None = None
    describe: Callable[[Stages], Details] = _no_details
    facts: Callable[[Mapping[str, float]], Iterable[Fact]] = _no_facts
    federated: Federated | None = None
