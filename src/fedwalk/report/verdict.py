"""The verdict at the top of the page: what was embedded, how good it is, and what others can learn, a sentence each.

It is written for readers who don't know the field, and must be true for every protocol, also for those of other
packages. So it says only what the record of the run, its ledger, its audit and the scores contain.
"""

import math

from fedwalk.evaluation import Score
from fedwalk.protocols.registry import known_protocol
from fedwalk.report.audit import Finding, best_attack, observer_text, share_text
from fedwalk.report.compare import Baseline
from fedwalk.report.content import Card
from fedwalk.report.quality import Quality, middle
from fedwalk.report.source import Source
from fedwalk.run.record import RunRecord
from fedwalk.util.text import counted


def verdict(
    source: Source, quality: Quality, baselines: tuple[Baseline, ...], findings: tuple[Finding, ...]
) -> tuple[Card, ...]:
    """The three sentences, each with its heading."""
    return (
        Card("What was embedded", what(source)),
        Card("How good it is", how_good(quality, baselines)),
        Card("What others can learn", what_leaks(source, findings)),
    )


def what(source: Source) -> str:
    """The size of the graph, the protocol, and where it ran."""
    record = source.record
    size = counted(record.graph.vertices, "vertex", "vertices")
    if record.graph.edges is not None:
        size += f" and {counted(record.graph.edges, 'edge', 'edges')}"
    protocol = known_protocol(source.protocol)
    if protocol is None:
        name, held = f"the protocol {source.protocol}, which isn't installed here", ""
    else:
        name = protocol.title
        held = "one party has the whole graph" if protocol.centralised else "no party is given the whole graph"
    place = _place(record, centralised=protocol is not None and protocol.centralised)
    return f"A graph of {size} was embedded by {name}{f': {held}' if held else ''}{place}."


def _place(record: RunRecord, *, centralised: bool) -> str:
    if record.federation is not None:
        holders, lost = len(record.federation["holders"]), len(record.federation["lost"])
        gone = f", of which {lost:,} dropped out" if lost else ""
        noise = "; their noise was simulated" if record.simulation else ""
        return f"; it ran in a federation of {counted(holders, 'holder', 'holders')}{gone}{noise}"
    return "" if centralised else "; here it was simulated on one machine"


def how_good(quality: Quality, baselines: tuple[Baseline, ...]) -> str:
    """F1 beside that of the baselines and beside guessing the most frequent labels; or what would be needed."""
    if not quality.scores:
        absent = quality.absent[0] if quality.absent else None
        reason = absent.reason.rstrip(".") if absent else "There is nothing to compare them with"
        remedy = f"; to judge them, run `{absent.command}`" if absent and absent.command else ""
        return f"How good the vectors are can't be said: {reason[:1].lower()}{reason[1:]}{remedy}."
    own, frequent = middle(quality.scores), middle(quality.frequent)
    yardsticks = [
        f"{middle(scores).micro_f1:.2f} from the vectors of {baseline.name}"
        for baseline, scores in zip(baselines, quality.others, strict=True)
    ]
    yardsticks.append(f"{frequent.micro_f1:.2f} by always guessing the most frequent labels")
    return (
        "Shown the labels of half of the labelled vertices, and told how many each other vertex has, a classifier "
        "guesses those of the other half from their "
        f"vectors with a score (micro-F1, at most 1) of {own.micro_f1:.2f}, against {' and '.join(yardsticks)}: "
        f"{_judgement(own, frequent)}."
    )


def _judgement(own: Score, frequent: Score) -> str:
    """Whether the vectors say something about the labels: more than the splits' own spread above no vectors."""
    gain = own.micro_f1 - frequent.micro_f1
    # A single split has no deviation, and then any gain counts.
    spread = (own.micro_f1_std or 0.0) + (frequent.micro_f1_std or 0.0)
    if gain > 2 * spread and gain > 0:
        return "the vectors say something about the labels"
    return "no advantage over guessing without vectors can be measured here"


def what_leaks(source: Source, findings: tuple[Finding, ...]) -> str:
    """What the best attack of the audit found, and what is proved; without either, what the run itself states."""
    proved, found = _proved(source.record), _found(findings)
    if proved is None:
        stated = source.record.privacy.partition(". ")[0].rstrip(".")
        proved = f"nothing limits what can be learned about an edge, in the protocol's own words: “{stated}”"
    if found is None:
        audit = "" if findings else "; no attack has been tried yet"
        return f"{proved[:1].upper()}{proved[1:]}{audit}."
    return f"{found}; {proved}."


def _proved(record: RunRecord) -> str | None:
    """The ε of the ledger in words, if all releases have a proved one."""
    releases = record.ledger.releases.values()
    epsilon = record.ledger.per_edge
    if not releases or math.isinf(epsilon) or any(release.nominal for release in releases):
        return None
    factor = f"{math.exp(epsilon):,.3g}" if epsilon < 20 else f"e^{epsilon:g}"
    simulated = " (here simulated: a party that knows the seed can remove the noise)" if record.simulation else ""
    return (
        "it is proved that whether any one edge exists changes the chance of everything that devices send by a factor "
        f"of {factor} at most (ε = {epsilon:g}){simulated}"
    )


def _found(findings: tuple[Finding, ...]) -> str | None:
    """What the best attack found, in words; None if no attack names any edge."""
    best = best_attack(findings)
    if best is None:
        return None
    recall, precision = best["success"]["recall"], best["success"]["precision"]
    return (
        f"In an audit, {observer_text(best['observer'])} could name {share_text(recall)} of all edges, with "
        f"{share_text(precision)} of the guesses right"
    )
