"""The section on attacks: what `fedwalk audit` found, from its audit.json.

Each number is shown with the party that could get it, its meaning, and what guesses without any message would reach.
"""

import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fedwalk.attacks.finding import metrics_text
from fedwalk.errors import RunFolderError
from fedwalk.report.content import Absent, Explained, Section, Table
from fedwalk.report.source import Source
from fedwalk.run.folder import AUDIT_FILE, SETTINGS_FILE, read_json_object
from fedwalk.util.text import epsilon_text, sentence

Finding = Mapping[str, Any]

KEY, TITLE = "audit", "Attacks"
OBSERVERS = {"server": "the server", "network": "the network", "device": "any device"}
"""Observers as a sentence names them; others are named as they are."""

MEANINGS = {
    "recall": "Of 100 edges, the attack names {percent}.",
    "precision": "Of 100 pairs that it names, {percent} are edges.",
    "named": "Of 100 vertices with a single neighbour, it names that neighbour for {percent}.",
    "cosine_auc": "Given an edge and another pair, it picks the edge in {percent} of 100 cases (by cosine).",
    "dot_auc": "By dot product instead of cosine: in {percent} of 100.",
    "rank_correlation": "Vertices sorted by the guess and by their true degree: a correlation of {value} (1: the same "
    "order, 0: none).",
    "epsilon": "With a smaller ε than {value}, so many right guesses would be too unlikely. The larger ε is, the "
    "more is revealed about an edge; 0 means nothing.",
}
CHANCES = {
    "recall": "As many pairs drawn at random would name {percent} of 100 edges.",
    "precision": "Of 100 pairs drawn at random, {percent} are edges.",
    "named": "A random guess is right for {percent} of 100.",
    "auc": "A coin flip would be right in {percent} of 100 cases.",
    "degree_auc": "The true degrees alone, without any vector: in {percent} of 100.",
    "rank_correlation": "A random order has a correlation of {value}.",
}
CLAIMS = {
    "limit": "The proved ε allows {percent} right guesses of 100 about a pair of which nothing else is known.",
    "ledger": "The ledger proves that ε is {value} at most.",
    "nominal": "The nominal ε, which only sets the scale of the noise, is {value}.",
}
"""What the baseline of a finding says about the protocol itself, rather than about chance."""


def read_audit(run: Path) -> dict[str, Any] | None:
    """What audit.json holds; None if the run hasn't been audited. RunFolderError if the file is damaged."""
    file = run / AUDIT_FILE
    if not file.exists():
        return None
    record = read_json_object(file, ("findings", "epsilon", "confidence"))
    try:
        # Whether each part has its type, before the page is half made.
        audit_section(record)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        command = shlex.join(["fedwalk", "audit", str(run)])
        raise RunFolderError(
            f"{file}: isn't what fedwalk wrote ({error!r}). Make it again with `{command}`."
        ) from error
    return record


def attack_section(source: Source, record: dict[str, Any] | None) -> Section:
    """The section for a run: from its audit.json, or the command that makes one."""
    if record is not None:
        return audit_section(record)
    # A federation's noise can't be drawn again: its settings are audited on a graph that the reader has.
    federated = source.record.federation is not None
    target = ["GRAPH", "--config", str(source.path / SETTINGS_FILE)] if federated else [str(source.path)]
    command = shlex.join(["fedwalk", "audit", *target])
    return Section(KEY, TITLE, absent=(Absent("This run hasn't been audited.", command),))


def audit_section(record: dict[str, Any]) -> Section:
    """The measured ε beside the ledger's, each finding with its explanation, and all of them as a table."""
    findings = record["findings"]
    head = ("attack", "observer", "reads", "success", "baseline")
    rows = tuple(
        (
            finding["attack"],
            finding["observer"],
            ", ".join(finding["sees"]),
            metrics_text(finding["success"]),
            metrics_text(finding["baseline"]),
        )
        for finding in findings
    )
    text = (
        "In each attack, a party tries to find out which vertices are connected, from nothing but what it receives. "
        "Its guesses are compared with the true graph. “By chance” is what guesses reach that are made without reading "
        "anything.",
        *_epsilons(record),
    )
    return Section(KEY, TITLE, text, table=Table(head, rows), explained=tuple(map(explain, findings)))


def explain(finding: Finding) -> Explained:
    """An attack's number, what it means, who could do it, and what chance reaches."""
    success, baseline = finding["success"], finding["baseline"]
    reads = ", ".join(finding["sees"]) or "nothing"
    terms = (
        ("Who", f"{sentence(observer_text(finding['observer']))}, from: {reads}."),
        ("Meaning", _words(MEANINGS, success) or "There is no number: nothing could be guessed."),
        ("By chance", _words(CHANCES, baseline)),
        ("Claimed", _words(CLAIMS, baseline)),
        ("How", finding["sentence"]),
    )
    return Explained(sentence(finding["attack"]), metrics_text(success), tuple(term for term in terms if term[1]))


def best_attack(findings: Iterable[Finding]) -> Finding | None:
    """The attack that names edges best: many of them, with few wrong guesses; None if no attack names any."""
    best = max(findings, key=_strength, default=None)
    return best if best is not None and _strength(best) > 0 else None


def _strength(finding: Finding) -> float:
    """The harmonic mean of recall and precision; 0 for an attack that names no edges."""
    recall, precision = (finding["success"].get(name, 0.0) for name in ("recall", "precision"))
    return 2 * recall * precision / (recall + precision) if recall + precision else 0.0


def observer_text(observer: str) -> str:
    """The observer as a sentence names it.

    >>> observer_text("server"), observer_text("anyone")
    ('the server', 'anyone')
    """
    return OBSERVERS.get(observer, observer)


def share_text(share: float) -> str:
    """A share in percent.

    >>> share_text(1.0), share_text(0.00627)
    ('100%', '0.627%')
    """
    return f"{100 * share:.3g}%"


def _words(sentences: Mapping[str, str], metrics: Mapping[str, float]) -> str:
    """A sentence for each metric that has one."""
    return " ".join(
        sentences[name].format(percent=f"{100 * value:.3g}", value=f"{value:.3g}")
        for name, value in metrics.items()
        if name in sentences
    )


def _epsilons(record: dict[str, Any]) -> tuple[str, ...]:
    """The measured ε and the proved one, if anything was measured."""
    bound, ledger = record["epsilon"]["at_least"], record["epsilon"]["ledger"]
    if bound is None:
        return ()
    proved = f"is {ledger}" if isinstance(ledger, str) else f"proves at most {epsilon_text(ledger)} per edge"
    return (f"Measured, ε is at least {bound:.3g} ({record['confidence']:.0%} confidence). The ledger's ε {proved}.",)
