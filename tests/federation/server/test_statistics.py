"""The statistics of a federated run survive a restart of the server."""

from pathlib import Path

from fedwalk.federation.server.statistics import RunStatistics


def test_statistics_are_read_back_as_they_were(tmp_path: Path) -> None:
    statistics = RunStatistics("run", {"ann": 3, "ben": 2})
    statistics.lose("ben", "vectors", "NaN", refused=True)
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
