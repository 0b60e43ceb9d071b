"""The privacy box: what is nominal, what is proved, and what leaks, for each protocol (docs/fidelity.md).

It says no more than is proved. A protocol that isn't known here is described by the sentence its run recorded.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fedwalk.report.source import Source


@dataclass(frozen=True, slots=True)
class Privacy:
    """The verdict in a sentence, and three lists."""

    verdict: str
    nominal: tuple[str, ...] = ()
    proved: tuple[str, ...] = ()
    leaks: tuple[str, ...] = ()


def privacy_of(source: Source) -> Privacy:
    """What can be said of this run."""
    recorded = str(source.record.get("privacy") or "Nothing is claimed.")
    verdict = recorded[:1].upper() + recorded[1:]
    if source.protocol == "paper":
        return _paper(verdict, source.settings, bool(source.record.get("simulation")))
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


def _paper(verdict: str, settings: dict[str, Any], simulation: bool) -> Privacy:
    nominal = (
        f"ε = {settings['epsilon']:g} sets the Laplace noise in each degree vector (scale 1/ε) and the encoder. For "
        "the protocol as a whole it is a name, not a bound.",
    )
    proved = (
        "Each degree vector, taken alone, is ε-differentially private for one device's list when one neighbour is "
        "added or removed.",
        "Nothing about the protocol as a whole.",
    )
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
