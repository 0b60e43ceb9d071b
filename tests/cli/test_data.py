"""`fedwalk data`: a table for people, paths and JSON for programs, errors on one line."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import Command
from fedwalk.graph.datasets import DATASETS
from helpers.website import Website, ring, ring_dataset, website


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FEDWALK_DATA", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return tmp_path / "cache"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Website]:
    """A website with one dataset, and the registry with that one too."""
    with website() as site:
        site.pages["/ring.mat"] = ring(tmp_path, 7)
        monkeypatch.setitem(DATASETS, "ring", ring_dataset(site, None))
        yield site


def test_the_list_shows_all_datasets_and_which_are_downloaded(fedwalk: Command, cache: Path) -> None:
    cache.mkdir()
    (cache / "flickr.mat").touch()
    outcome = fedwalk("data", "list")
    assert outcome.code == 0
    rows = {line.split()[0]: line for line in outcome.out.splitlines() if line}
    assert "downloaded" in rows["flickr"]
    assert "80,513" in rows["flickr"]
    assert "5,899,882" in rows["flickr"]
    assert "downloaded" not in rows["youtube"]
    # Wrapped, because the table is a little wider than 80 columns.
    assert "Grover & Leskovec, KDD" in rows["ppi"]
    assert str(cache) in outcome.out


def test_the_list_as_json_has_addresses_and_paths(fedwalk: Command, cache: Path) -> None:
    cache.mkdir()
    (cache / "flickr.mat").touch()
    records = {record["name"]: record for record in json.loads(fedwalk("data", "list", "--json").out)}
    assert records.keys() == DATASETS.keys()
    assert records["flickr"]["path"] == str(cache / "flickr.mat")
    assert records["blogcatalog"]["path"] is None
    assert records["blogcatalog"]["sha256"] == DATASETS["blogcatalog"].sha256
    assert records["youtube"]["url"] == DATASETS["youtube"].url


@pytest.mark.usefixtures("site")
def test_get_and_path_print_the_path_and_nothing_else(fedwalk: Command, cache: Path) -> None:
    got = fedwalk("data", "get", "ring")
    assert (got.code, got.out) == (0, f"{cache / 'Ring.mat'}\n")
    assert "Ring.mat has no published checksum" in got.err
    asked = fedwalk("data", "path", "ring")
    assert (asked.code, asked.out, asked.err) == (0, got.out, "")


def test_a_given_file_is_used_instead_of_a_download(
    fedwalk: Command, site: Website, cache: Path, tmp_path: Path
) -> None:
    assert fedwalk("data", "get", "ring", "--from", tmp_path / "ring-7.mat").out == f"{cache / 'Ring.mat'}\n"
    assert site.asked == []
    ring(tmp_path, 9)
    outcome = fedwalk("data", "get", "ring", "--from", tmp_path / "ring-9.mat")
    assert (outcome.code, outcome.out) == (2, "")
    assert "ring-9.mat: not the expected Ring.mat" in outcome.err


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (("path", "ring"), ["isn't downloaded yet", "fedwalk data get ring", "--from FILE"]),
        (("path", "orkut"), ["no dataset is called 'orkut'", "blogcatalog"]),
        (("get", "orkut"), ["no dataset is called 'orkut'", "blogcatalog"]),
        (("get", "ring", "--from", "no.mat"), ["no.mat: no such file"]),
    ],
)
def test_bad_input_is_one_line(arguments: tuple[str, ...], parts: list[str], fedwalk: Command) -> None:
    outcome = fedwalk("data", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("fedwalk: error: ")
    assert outcome.err.count("\n") == 1
    for part in parts:
        assert part in outcome.err


def test_a_failed_download_is_one_line(fedwalk: Command, site: Website) -> None:
    del site.pages["/ring.mat"]
    outcome = fedwalk("data", "get", "ring")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(f"fedwalk: error: {site.address}/ring.mat: the server answers 404")
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize("arguments", [("get",), ("path",), ("get", "flickr", "--from"), ("fetch", "flickr")])
def test_wrong_usage_exits_with_2(arguments: tuple[str, ...], fedwalk: Command) -> None:
    outcome = fedwalk("data", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert "error: " in outcome.err


def test_help_has_examples(fedwalk: Command) -> None:
    told = fedwalk("data", "--help").out
    for part in ("fedwalk data get blogcatalog", "--from", "--json", "FEDWALK_DATA"):
        assert part in told
