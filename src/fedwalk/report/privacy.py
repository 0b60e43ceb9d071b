"""The privacy box: what is nominal, what is proved, and what leaks, for each protocol (docs/fidelity.md).

It says no more than is proved. A protocol that isn't known here is described by the sentence its run recorded.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fedwalk.report.source import Source
from fedwalk.words import sentence


@dataclass(frozen=True, slots=True)
class Privacy:
    """The verdict in a sentence, and three lists."""

    verdict: str
    nominal: tuple[str, ...] = ()
    proved: tuple[str, ...] = ()
    leaks: tuple[str, ...] = ()


def privacy_of(source: Source) -> Privacy:
    """What can be said of this run."""
    verdict = sentence(str(source.record.get("privacy") or "Nothing is claimed."))
    if source.protocol == "paper":
        return _paper(verdict, source.settings, bool(source.record.get("simulation")))
    if source.protocol == "ldp":
        return _ldp(verdict, source.settings, bool(source.record.get("simulation")))
    if source.protocol == "deepwalk":
        return _deepwalk(verdict)
    return Privacy(verdict)


def _deepwalk(verdict: str) -> Privacy:
    return Privacy(
        verdict,
        nominal=("There is no ε: no noise is added anywhere.",),
        proved=("Nothing.",),
        leaks=("The whole graph lies in one place, and whoever runs this sees it.",),
    )


def _ldp(verdict: str, settings: dict[str, Any], simulation: bool) -> Privacy:
    epsilon = settings["epsilon"]
    proved = (
        f"For any one edge: all that leaves the devices is at most e^{epsilon:g} times as likely with it as without, "
        "and the other way round, whoever looks and however many walks are drawn. Pure ε, no δ, and nobody is trusted "
        "but the edge's own ends.",
        f"For k edges together: k times {epsilon:g}.",
    )
    leaks = [
        "An edge is as safe as the device that reports it: half of a vertex's edges are reported by the other end.",
        f"Up to {epsilon:g} per edge: an observer may still learn that a reported pair is likely an edge.",
        "A whole vertex isn't hidden: with many edges at stake their costs add up.",
        "Who takes part, and how many vertices there are, is public; how long a device takes to answer isn't hidden.",
        "A second run with other noise costs its own ε on top; the same question again costs nothing.",
    ]
    if simulation:
        leaks.append(
            f"This is a simulation: all noise comes from the seed {settings['seed']}, so nothing is hidden here."
        )
    return Privacy(
        verdict, ("Nothing is nominal here: ε is the total per edge of the whole run.",), proved, tuple(leaks)
    )


def _paper(verdict: str, settings: dict[str, Any], simulation: bool) -> Privacy:
    nominal = (
        f"ε = {settings['epsilon']:g} sets the Laplace noise in each degree vector (scale 1/ε) and the encoder. For "
        "the protocol as a whole it is a name, not a bound.",
        "A degree vector alone, in exact arithmetic, would be ε-differentially private for one neighbour in one list.",
    )
    proved = ("Nothing about the protocol as a whole.",)
    return Privacy(verdict, nominal, proved, tuple(_paper_leaks(settings, simulation)))


def _paper_leaks(settings: dict[str, Any], simulation: bool) -> Iterator[str]:
    yield (
        "Every edge, to the server: the rows of a degree matrix are vectors that the server itself sent round, each of "
        "them unique. Looking them up names all the neighbours of the device."
    )
    yield "Every exact degree, to the server: a degree matrix has one row per neighbour."
    yield (
        "Dissimilarities, to every device: they are computed from those matrices, so the tree and the encoder's table "
        "carry traces of everybody's list."
    )
    encoder = (
        "as it is: this run's encoder changes nothing"
        if settings["encoder"] == "identity"
        else "encoded, but the encoder mostly returns what it was given"
    )
    yield (
        f"Edges once more, to the server: a walk's first entry is a neighbour of the device it started at, {encoder}. "
        f"Each device starts {settings['walks']:,} walks, and nothing adds up what they cost."
    )
    yield "Edges, to whoever carries the tokens: who contacts whom."
    if simulation:
        yield (
            f"This is a simulation: all noise comes from the seed {settings['seed']}, and whoever knows it can "
            "subtract it."
        )
