"""The report's section on attacks, from what audit.json holds."""

import pytest

from conftest import SETTINGS
from fedwalk.attacks.finding import metrics_text
from fedwalk.audit import audit
from fedwalk.graph import Graph
from fedwalk.report.audit import CHANCES, CLAIMS, MEANINGS, audit_section, explain, observer_text
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
    assert len(section.explained) == len(record["findings"])
    assert len(section.text) == (2 if words else 1)
    assert section.text[1 if words else 0].endswith(words)


@pytest.mark.parametrize("protocol", ["paper", "ldp", "deepwalk"])
def test_every_number_of_an_attack_is_explained(protocol: str, network: Graph) -> None:
    record = audit(network, Settings(**SETTINGS, protocol=protocol), canaries=500, repeats=50).as_dict()
    for finding in record["findings"]:
        entry = explain(finding)
        terms = dict(entry.terms)
        assert entry.value == metrics_text(finding["success"])
        assert terms["How"] == finding["sentence"]
        assert terms["Who"].startswith(observer_text(finding["observer"]).capitalize())
        # Every metric that the table shows has its sentence: nothing is left to the reader's guess.
        shown = {name for name in finding["success"] if metrics_text({name: 1.0}) != "–"}
        assert shown <= MEANINGS.keys()
        assert {
            name for name in finding["baseline"] if metrics_text({name: 1.0}) != "–"
        } <= CHANCES.keys() | CLAIMS.keys()
        assert ("By chance" in terms or "Claimed" in terms) == bool(finding["baseline"])


def test_a_share_of_the_edges_is_put_into_words() -> None:
    finding = {"attack": "matrix rows", "observer": "server", "sees": ["matrices"], "sentence": "It looks them up.",
               "success": {"recall": 0.86, "precision": 0.5}, "baseline": {"precision": 0.006}}  # fmt: skip
    assert explain(finding).terms == (
        ("Who", "The server, from: matrices."),
        ("Meaning", "Of 100 edges, the attack names 86. Of 100 pairs that it names, 50 are edges."),
        ("By chance", "Of 100 pairs drawn at random, 0.6 are edges."),
        ("How", "It looks them up."),
    )
