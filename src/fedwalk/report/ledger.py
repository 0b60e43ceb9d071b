"""The privacy ledger of a run: every release, what it costs, and the total. It claims no more than is proved."""

from typing import Any

from fedwalk.report.content import Absent, Section, Table
from fedwalk.report.source import Source
from fedwalk.words import epsilon_text, sentence

HEAD = ("release", "by", "times", "unit", "ε", "per edge")


def ledger_section(source: Source) -> Section:
    """The section on the ledger, from run.json."""
    key, title = "ledger", "Privacy ledger"
    ledger: dict[str, Any] | None = source.record.get("ledger")
    if not ledger:
        return Section(key, title, absent=(Absent("This run kept no ledger: it was made by an older version."),))
    budget = f", of a budget of {ledger['budget']:g}" if ledger.get("budget") is not None else ""
    edge, device = epsilon_text(ledger["per_edge"]), epsilon_text(ledger["per_device"])
    text = f"All releases together cost {edge} per edge{budget}, and {device} per device, for one entry of its list."
    if source.record.get("simulation"):
        text += " This is a simulation: the noise comes from the seed."
    rows = tuple(
        (
            entry["what"], entry["by"], f"{entry['times']:,}", entry["unit"],
            epsilon_text(entry["epsilon"], entry["nominal"]), epsilon_text(entry["per_edge"], entry["nominal"]),
        )
        for entry in ledger["releases"].values()
    )  # fmt: skip
    reasons = [f"{sentence(entry['what'])}: {entry['why']}." for entry in ledger["releases"].values()]
    return Section(key, title, (text, *dict.fromkeys(reasons)), table=Table(HEAD, rows))
