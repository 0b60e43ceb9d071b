"""The section on attacks: what `fedwalk audit` found, from its audit.json."""

import shlex
from typing import Any

from fedwalk.attacks.finding import metrics_text
from fedwalk.errors import RunFolderError
from fedwalk.report.content import Absent, Section, Table
from fedwalk.report.source import Source
from fedwalk.run.folder import AUDIT_FILE, read_json_object
from fedwalk.util.text import epsilon_text, sentence


def attack_section(source: Source) -> Section:
    """The section for a run: from its audit.json, or the command that makes one."""
    file = source.path / AUDIT_FILE
    if not file.exists():
        target = "GRAPH" if source.record.federation is not None else str(source.path)
        command = shlex.join(["fedwalk", "audit", target])
        return Section("audit", "Attacks", absent=(Absent("This run hasn't been audited.", command),))
    try:
        return audit_section(read_json_object(file, ("findings", "epsilon", "confidence")))
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        command = shlex.join(["fedwalk", "audit", str(source.path)])
        raise RunFolderError(
            f"{file}: isn't what fedwalk wrote ({error!r}). Make it again with `{command}`."
        ) from error


def audit_section(record: dict[str, Any]) -> Section:
    """A row per attack, the measured ε beside the ledger's, and each finding in a sentence."""
    head = ("attack", "observer", "reads", "success", "baseline")
    rows = tuple(
        (
            finding["attack"],
            finding["observer"],
            ", ".join(finding["sees"]),
            metrics_text(finding["success"]),
            metrics_text(finding["baseline"]),
        )
        for finding in record["findings"]
    )
    text = (
        "Each attack reads only what its observer sees. Of edges: the share of the edges that it guesses. Right: the "
        "share of its guesses that are edges. A baseline has seen nothing.",
        *_epsilons(record),
        *(f"{sentence(finding['attack'])}: {finding['sentence']}" for finding in record["findings"]),
    )
    return Section("audit", "Attacks", text, table=Table(head, rows))


def _epsilons(record: dict[str, Any]) -> tuple[str, ...]:
    """The measured ε and the proved one, if anything was measured."""
    bound, ledger = record["epsilon"]["at_least"], record["epsilon"]["ledger"]
    if bound is None:
        return ()
    proved = f"is {ledger}" if isinstance(ledger, str) else f"proves at most {epsilon_text(ledger)} per edge"
    return (f"Measured, ε is at least {bound:.3g} ({record['confidence']:.0%} confidence). The ledger's ε {proved}.",)
