"""The statistics of a federated run survive a restart of the server, and are checked when a record is read."""

from pathlib import Path
from typing import Any

import pytest

from fedwalk.errors import RunFolderError
from fedwalk.federation.server.statistics import FederationFacts, RunStatistics


def test_statistics_are_read_back_as_they_were(tmp_path: Path) -> None:
    statistics = RunStatistics("run", {"ann": 3, "ben": 2})
    statistics.lose("ben", "vectors", "NaN", invalid=True)
    statistics.refused_by_holders.update({"replayed": 3, "malformed": 1})
    statistics.refused_by_holders.update({"replayed": 1})
    statistics.refused_by_server.update({"too large": 2})
    statistics.walks.finished, statistics.wire.bytes = 7, 9
    statistics.save(tmp_path / "statistics.json")
    again = RunStatistics.load(tmp_path / "statistics.json")
    assert again == statistics
    assert again.as_dict() == statistics.as_dict()
    assert again.as_dict()["refused_by_holders"] == {"replayed": 4, "malformed": 1}
    assert again.living() == ["ann"]


def test_the_federations_part_of_a_record_is_read_back_without_the_secret() -> None:
    facts = FederationFacts(5, RunStatistics("run", {"ann": 3, "ben": 2}, patience=2.0))
    again = FederationFacts.from_dict(facts.as_dict(), "run.json")
    assert again.as_dict() == facts.as_dict()
    assert facts.statistics.secret not in str(again)


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("walks", None, "'walks' is missing or unknown"),
        ("wire", {}, "wire isn't a table"),
        ("embedded", -1, "embedded isn't a count"),
        ("lost", [], "lost isn't a table"),
        ("more", 1, "'more' is missing or unknown"),
    ],
)
def test_a_damaged_part_of_a_record_is_refused_by_name(name: str, value: Any, problem: str) -> None:
    content = {**FederationFacts(5, RunStatistics("run")).as_dict(), name: value}
    if value is None:
        del content[name]
    with pytest.raises(RunFolderError, match=rf"^run/run.json: its `federation` isn't .*{problem}.* --force"):
        FederationFacts.from_dict(content, "run/run.json")
