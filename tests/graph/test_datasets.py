"""Datasets: real downloads from a server on this machine, copies, checksums, and what failures leave behind."""

import hashlib
import re
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pooch
import pytest

from fedwalk.errors import InputError
from fedwalk.graph import datasets
from fedwalk.graph.datasets import DATASETS, Dataset
from fedwalk.graph.formats.recognise import SUFFIXES
from helpers.website import Website, ring, ring_dataset, website


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FEDWALK_DATA", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(pooch.get_logger(), "level", 30)
    return tmp_path / "cache"


@pytest.fixture
def good(tmp_path: Path) -> bytes:
    return ring(tmp_path, 7)


@pytest.fixture
def site(good: bytes) -> Iterator[Website]:
    with website() as site:
        site.pages["/ring.mat"] = good
        yield site


def enter(dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DATASETS, dataset.name, dataset)


@pytest.fixture
def known(site: Website, good: bytes, monkeypatch: pytest.MonkeyPatch) -> Dataset:
    """A dataset whose checksum is published."""
    dataset = ring_dataset(site, sha256(good))
    enter(dataset, monkeypatch)
    return dataset


@pytest.fixture
def unknown(site: Website, monkeypatch: pytest.MonkeyPatch) -> Dataset:
    """A dataset without a published checksum."""
    dataset = ring_dataset(site, None)
    enter(dataset, monkeypatch)
    return dataset


def kept(cache: Path) -> list[str]:
    return sorted(path.name for path in cache.iterdir())


def test_every_entry_is_complete_and_in_a_format_that_is_read() -> None:
    assert {"blogcatalog", "flickr", "youtube"} <= DATASETS.keys()
    assert len({dataset.file for dataset in DATASETS.values()}) == len(DATASETS)
    for name, dataset in DATASETS.items():
        assert name == dataset.name
        assert re.fullmatch(r"https?://[^/]+/.+", dataset.url)
        assert Path(dataset.file).suffix in SUFFIXES
        assert dataset.sha256 is None or re.fullmatch("[0-9a-f]{64}", dataset.sha256)
        assert min(dataset.vertices, dataset.edges, dataset.labels) > 0


def test_a_download_is_kept_and_loads_as_a_graph_with_labels(known: Dataset, cache: Path, good: bytes) -> None:
    assert datasets.get("ring") == cache / "Ring.mat" == datasets.path("ring")
    assert kept(cache) == ["Ring.mat"]
    assert (cache / "Ring.mat").read_bytes() == good
    graph = datasets.load("ring")
    assert (graph.vertices, graph.edges) == (7, 7)
    assert graph.labels is not None
    assert graph.labels.names == ("0", "1")


@pytest.mark.usefixtures("known")
def test_a_download_has_the_permissions_of_any_new_file(cache: Path) -> None:
    datasets.get("ring")
    (cache / "new").touch()
    assert (cache / "Ring.mat").stat().st_mode == (cache / "new").stat().st_mode


@pytest.mark.usefixtures("known")
def test_a_second_get_downloads_nothing(site: Website) -> None:
    assert datasets.get("ring") == datasets.get("ring")
    assert site.asked == ["/ring.mat"]


@pytest.mark.usefixtures("known")
def test_a_damaged_file_is_named_and_downloaded_again(site: Website, cache: Path, good: bytes) -> None:
    datasets.get("ring")
    (cache / "Ring.mat").write_bytes(good[:-1])
    with pytest.raises(InputError, match=rf"Ring\.mat: not the expected .*{sha256(good)}.*`fedwalk data get ring`"):
        datasets.path("ring")
    datasets.get("ring")
    assert datasets.path("ring").read_bytes() == good
    assert len(site.asked) == 2


def test_progress_ends_at_the_size_of_the_file(known: Dataset, site: Website, good: bytes) -> None:
    big = good + bytes(300_000)
    site.pages["/ring.mat"] = big
    reports: list[tuple[int, int]] = []
    with pytest.raises(InputError, match="not the expected"):
        datasets.get(known.name, on_progress=lambda done, total: reports.append((done, total)))
    assert len(reports) > 3
    assert [done for done, _ in reports] == sorted(done for done, _ in reports)
    assert reports[-1] == (len(big), len(big))


def test_a_wrong_checksum_names_both_sums_and_keeps_nothing(
    known: Dataset, site: Website, cache: Path, good: bytes, tmp_path: Path
) -> None:
    site.pages["/ring.mat"] = other = ring(tmp_path, 9)
    with pytest.raises(InputError) as caught:
        datasets.get(known.name)
    for part in (known.url, sha256(good), sha256(other), "--from FILE"):
        assert part in str(caught.value)
    assert kept(cache) == []


@pytest.mark.usefixtures("known")
def test_failed_downloads_say_why_and_keep_nothing(site: Website, good: bytes, cache: Path) -> None:
    site.missing["/ring.mat"] = 1000
    with pytest.raises(InputError, match=r"the connection was lost.*`fedwalk data get ring --from FILE`"):
        datasets.get("ring")
    del site.pages["/ring.mat"]
    with pytest.raises(InputError, match=r"ring\.mat: the server answers 404 Not Found.*--from FILE"):
        datasets.get("ring")
    assert kept(cache) == []
    site.pages["/ring.mat"], site.missing = good, {}
    assert datasets.get("ring").read_bytes() == good


def test_a_refused_connection_says_how_to_do_without(
    known: Dataset, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as taken:  # bound but not listening, so no other process can answer
        taken.bind(("127.0.0.1", 0))
        enter(replace(known, url=f"http://127.0.0.1:{taken.getsockname()[1]}/ring.mat"), monkeypatch)
        with pytest.raises(InputError, match=r"the server can't be reached.*`fedwalk data get ring --from FILE`"):
            datasets.get("ring")
    assert kept(cache) == []


@pytest.mark.usefixtures("unknown")
def test_without_a_published_checksum_the_first_copy_sets_it(
    site: Website, cache: Path, good: bytes, tmp_path: Path
) -> None:
    datasets.get("ring")
    assert (cache / "Ring.mat.sha256").read_text() == f"{sha256(good)}  Ring.mat\n"
    other = tmp_path / "other.mat"
    other.write_bytes(good + b"\0")
    with pytest.raises(InputError, match=r"the recorded one is .*delete .*Ring\.mat\.sha256"):
        datasets.put("ring", other)
    (cache / "Ring.mat").unlink()
    site.pages["/ring.mat"] = good + b"\0"
    with pytest.raises(InputError, match="the recorded one is"):
        datasets.get("ring")
    assert kept(cache) == ["Ring.mat.sha256"]


@pytest.mark.usefixtures("unknown")
def test_without_a_published_checksum_the_content_must_fit(site: Website, cache: Path, tmp_path: Path) -> None:
    site.pages["/ring.mat"] = b"<html>Please log in to this network</html>"
    with pytest.raises(InputError, match=rf"not the dataset ring: {site.address}/ring\.mat: not a readable MATLAB"):
        datasets.get("ring")
    site.pages["/ring.mat"] = ring(tmp_path, 9)
    with pytest.raises(InputError, match="9 vertices and 2 labels, expected 7 and 2"):
        datasets.get("ring")
    assert kept(cache) == []


@pytest.mark.usefixtures("unknown")
def test_a_file_placed_in_the_folder_manually_is_checked_by_get(cache: Path, good: bytes, site: Website) -> None:
    cache.mkdir()
    (cache / "Ring.mat").write_bytes(b"junk")
    with pytest.raises(InputError, match=r"not the dataset ring: .*Ring\.mat"):
        datasets.get("ring")
    (cache / "Ring.mat").write_bytes(good)
    datasets.get("ring")
    assert kept(cache) == ["Ring.mat", "Ring.mat.sha256"]
    assert site.asked == []


def test_a_file_from_elsewhere_takes_the_place_of_a_download(
    known: Dataset, site: Website, cache: Path, good: bytes, tmp_path: Path
) -> None:
    file = tmp_path / "brought by hand"
    file.write_bytes(good)
    assert datasets.put(known.name, file) == datasets.get(known.name) == datasets.path(known.name)
    assert site.asked == []
    assert kept(cache) == ["Ring.mat"]
    assert file.exists()


def test_a_wrong_file_from_elsewhere_leaves_the_good_one(
    known: Dataset, cache: Path, good: bytes, tmp_path: Path
) -> None:
    datasets.get(known.name)
    file = tmp_path / "wrong.mat"
    file.write_bytes(b"wrong")
    with pytest.raises(InputError, match=rf"wrong\.mat: .*{sha256(b'wrong')}.*{sha256(good)}"):
        datasets.put(known.name, file)
    with pytest.raises(InputError, match=r"absent\.mat: no such file"):
        datasets.put(known.name, tmp_path / "absent.mat")
    assert kept(cache) == ["Ring.mat"]
    assert (cache / "Ring.mat").read_bytes() == good


def test_the_error_for_a_missing_dataset_says_how_to_get_it(cache: Path) -> None:
    with pytest.raises(InputError, match=r"`fedwalk data get flickr`, .*`fedwalk data get flickr --from FILE`"):
        datasets.path("flickr")
    assert not datasets.is_downloaded("flickr")
    assert not cache.exists()
    with pytest.raises(InputError, match=r"'orkut'; there are blogcatalog, flickr, youtube"):
        datasets.get("orkut")


def test_a_graph_on_the_command_line_is_a_file_or_else_a_dataset(
    known: Dataset, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="`fedwalk data get ring`"):
        datasets.resolve_graph("ring")
    datasets.get(known.name)
    Path("ring").mkdir()
    assert datasets.resolve_graph("ring") == str(cache / "Ring.mat")
    Path("ring").rmdir()
    Path("ring").write_text("1 2\n")
    assert datasets.resolve_graph("ring") == "ring"
    assert datasets.resolve_graph("Ring.mat") == "Ring.mat"


def test_the_folder_is_the_systems_unless_the_environment_names_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEDWALK_DATA", "~/graphs")
    assert datasets.cache_folder() == Path.home() / "graphs"
    monkeypatch.delenv("FEDWALK_DATA")
    assert datasets.cache_folder() == Path(pooch.os_cache("fedwalk"))
