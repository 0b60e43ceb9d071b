"""The privacy ledger of a run: every release, what it costs, and the total. It claims no more than is proved."""

from fedwalk.privacy.ledger import or_unbounded
from fedwalk.report.content import Section, Table
from fedwalk.report.source import Source
from fedwalk.util.text import epsilon_text, sentence

HEAD = ("release", "by", "times", "unit", "ε", "per edge")


def ledger_section(source: Source) -> Section:
    """The section on the ledger, from run.json."""
    key, title = "ledger", "Privacy ledger"
    ledger = source.record.ledger
    budget = f", of a budget of {ledger.budget:g}" if ledger.budget is not None else ""
    edge, device = (
        epsilon_text(or_unbounded(ledger.per_edge)),
        epsilon_text(or_unbounded(ledger.per_device)),
    )
    text = (
        f"All releases together cost {edge} per edge{budget}, and {device} per device, for one entry of its neighbour "
        "list."
    )
    if source.record.simulation:
        text += " This is a simulation: the noise comes from the seed."
    rows = tuple(
        (
            release.what, release.by, f"{release.times:,}", release.unit,
            epsilon_text(or_unbounded(release.epsilon), release.nominal),
            epsilon_text(or_unbounded(release.per_edge), release.nominal),
        )
        for release in ledger.releases.values()
    )  # fmt: skip
    reasons = [f"{sentence(release.what)}: {release.why}." for release in ledger.releases.values()]
    return Section(key, title, (text, *dict.fromkeys(reasons)), table=Table(HEAD, rows))
