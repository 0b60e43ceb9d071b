"""The report's section on attacks, from what audit.json holds."""

import pytest

from conftest import SETTINGS
from fedwalk.audit import audit
from fedwalk.graph import Graph
from fedwalk.report.audit import audit_section
from fedwalk.settings import Settings


@pytest.mark.parametrize(
    ("protocol", "words"),
    [("paper", "The ledger's ε is unbounded."), ("ldp", "The ledger's ε proves at most 2 per edge."), ("deepwalk", "")],
)
def test_the_section_has_a_row_per_attack_and_both_epsilons(protocol: str, words: str, network: Graph) -> None:
    record = audit(network, Settings(**SETTINGS, protocol=protocol), canaries=500, repeats=50).as_dict()
    section = audit_section(record)
    assert section.table is not None
    assert [row[0] for row in section.table.rows] == [finding["attack"] for finding in record["findings"]]
    assert all(len(row) == len(section.table.head) for row in section.table.rows)
    assert len(section.text) == (2 if words else 1) + len(record["findings"])
    assert section.text[1 if words else 0].endswith(words)
