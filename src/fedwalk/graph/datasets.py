"""Public graphs by name: their addresses and sizes, and a cache folder for their files.

These are the labelled graphs of DeepWalk (KDD '14) and node2vec (KDD '16), all of them `.mat` files with `network` and
`group`. pooch manages the cache folder: a file gets its final name there only after it is complete and checked. Where
no checksum is published, a file must have as many vertices and labels as the literature reports. The sha256 of the
first file that does is recorded next to it, and later copies must match it.
"""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from fedwalk.errors import InputError
from fedwalk.graph.download import download
from fedwalk.graph.fields import Fields
from fedwalk.graph.formats import read_graph
from fedwalk.graph.graph import Graph
from fedwalk.graph.load import load_graph
from fedwalk.graph.sources import existing_file, read_content
from fedwalk.util.files import replace_file
from fedwalk.util.parallel import Progress


@dataclass(frozen=True, slots=True)
class Dataset:
    """A public graph. `edges` is the number that its paper reports; `sha256` is None if none is published."""

    name: str
    title: str
    vertices: int
    edges: int
    labels: int
    url: str
    file: str
    sha256: str | None
    source: str


_TANG = "http://leitang.net/code/social-dimension/data"
_SNAP = "https://snap.stanford.edu/node2vec"
_BLOGCATALOG_SHA256 = "d4f4fb89ce1ccd4b7e2a183386c000773cc9362cc61f1be5b246a6d9c259da8f"

DATASETS: dict[str, Dataset] = {
    dataset.name: dataset
    for dataset in (
        Dataset(
            "blogcatalog", "BlogCatalog: bloggers, friendships, interests", 10_312, 333_983, 39,
            f"{_TANG}/blogcatalog.mat", "blogcatalog.mat", _BLOGCATALOG_SHA256, "Tang & Liu, KDD 2009",
        ),
        Dataset(
            "flickr", "Flickr: people who share photographs, contacts, groups", 80_513, 5_899_882, 195,
            f"{_TANG}/flickr.mat", "flickr.mat", None, "Tang & Liu, KDD 2009",
        ),
        Dataset(
            "youtube", "YouTube: people who share videos, contacts, groups", 1_138_499, 2_990_443, 47,
            f"{_TANG}/youtube.mat", "youtube.mat", None, "Tang & Liu, CIKM 2009",
        ),
        Dataset(
            "ppi", "PPI: human proteins, interactions, hallmark gene sets", 3_890, 76_584, 50,
            f"{_SNAP}/Homo_sapiens.mat", "Homo_sapiens.mat", None, "Grover & Leskovec, KDD 2016",
        ),
        Dataset(
            "wikipedia", "Wikipedia: words, occurrences side by side, parts of speech", 4_777, 184_812, 40,
            f"{_SNAP}/POS.mat", "POS.mat", None, "Grover & Leskovec, KDD 2016",
        ),
    )
}  # fmt: skip


def cache_folder() -> Path:
    """The cache folder: FEDWALK_DATA if it is set, or else the system's folder for caches."""
    if chosen := os.environ.get("FEDWALK_DATA"):
        return Path(chosen).expanduser()
    import pooch

    return Path(pooch.os_cache("fedwalk"))


def find(name: str) -> Dataset:
    """The dataset of this name; the error for an unknown name lists all of them.

    Examples
    --------
    >>> find("flickr").vertices
    80513
    """
    if name not in DATASETS:
        raise InputError(f"no dataset is called {name!r}; there are {', '.join(DATASETS)} (see `fedwalk data list`)")
    return DATASETS[name]


def is_downloaded(name: str) -> bool:
    """Whether the dataset's file is in the cache folder. The file isn't read."""
    return _place(find(name)).is_file()


def path(name: str) -> Path:
    """The dataset's file in the cache folder, after its checksum was verified.

    Raises
    ------
    InputError
        If the file is missing or was changed; the message says how to get it.
    """
    dataset = find(name)
    file = _place(dataset)
    if not file.is_file():
        raise InputError(
            f"the dataset {name} isn't downloaded yet: there is no {file}. Run `fedwalk data get {name}`, "
            f"or `fedwalk data get {name} --from FILE` if you have {dataset.file}"
        )
    _check_sum(dataset, file, str(file))
    return file


def get(name: str, *, on_progress: Progress | None = None) -> Path:
    """Download a dataset, unless its file is in the cache folder already and passes its check.

    Parameters
    ----------
    name : str
        One of `DATASETS`.
    on_progress : callable, optional
        Called with (bytes received, total bytes); the total is 0 if the server doesn't announce it.

    Returns
    -------
    Path
        The file in the cache folder, for `load_graph`.
    """
    import pooch

    dataset = find(name)
    folder = _made_folder()
    cache = pooch.create(
        path=folder,
        base_url="",
        registry={dataset.file: _expected_sum(dataset)},
        urls={dataset.file: dataset.url},
    )
    file = Path(cache.fetch(dataset.file, downloader=_downloader(dataset, on_progress)))
    if _expected_sum(dataset) is None:
        _admit(dataset, file, str(file))  # the file was placed there manually, so it was never checked
    return file


def put(name: str, file: str | os.PathLike[str]) -> Path:
    """Copy a file obtained elsewhere into the cache folder, if it is the dataset's."""
    dataset = find(name)
    given = existing_file(file)
    place = _made_folder() / dataset.file

    def copy(target: BinaryIO) -> None:
        with given.open("rb") as source:
            shutil.copyfileobj(source, target)
        target.flush()
        # The copy is checked on disk, before it replaces an existing file.
        _admit(dataset, Path(target.name), str(given))

    replace_file(place, copy)
    return place


def load(name: str) -> Graph:
    """Load the graph and labels of a dataset that is in the cache folder."""
    return load_graph(path(name))


def resolve_graph(name_or_path: str) -> str:
    """The path that a graph argument of a command stands for.

    An existing file comes first, then a dataset of this name. Any other text is returned unchanged: reading it then
    fails with the reader's error.

    Examples
    --------
    >>> resolve_graph("graph.edges")
    'graph.edges'
    """
    if name_or_path not in DATASETS or Path(name_or_path).is_file():
        return name_or_path
    return str(path(name_or_path))


def _place(dataset: Dataset) -> Path:
    return cache_folder() / dataset.file


def _made_folder() -> Path:
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _record(dataset: Dataset) -> Path:
    """The file that records the checksum of the first copy, in the format of `sha256sum --check`."""
    return _place(dataset).with_name(f"{dataset.file}.sha256")


def _expected_sum(dataset: Dataset) -> str | None:
    """The published checksum, or else the recorded one of the first copy, or else None."""
    record = _record(dataset)
    if dataset.sha256 is not None or not record.is_file():
        return dataset.sha256
    return record.read_text(encoding="utf-8").partition(" ")[0].strip()


def _check_sum(dataset: Dataset, file: Path, origin: str) -> str:
    """The file's sha256; InputError if a different one is expected."""
    import pooch

    actual, expected = str(pooch.file_hash(str(file))), _expected_sum(dataset)
    if expected is None or actual == expected:
        return actual
    known = "published" if dataset.sha256 is not None else "recorded"
    other = "" if dataset.sha256 is not None else f". To accept this file instead, delete {_record(dataset)} first"
    raise InputError(
        f"{origin}: not the expected {dataset.file}: its sha256 is {actual}, but the {known} one is {expected}. Run "
        f"`fedwalk data get {dataset.name}` for a new copy, or give one with --from FILE{other}"
    )


def _admit(dataset: Dataset, file: Path, origin: str) -> None:
    """Check a new file: by its checksum, or if none is known by its content, whose checksum is then recorded."""
    checksum = _check_sum(dataset, file, origin)
    if _expected_sum(dataset) is not None:
        return
    try:
        graph = read_graph(read_content(file), "mat", Fields())
    except InputError as error:
        raise InputError(f"not the dataset {dataset.name}: {str(error).replace(str(file), origin)}") from error
    labels = 0 if graph.labels is None else len(graph.labels.names)
    if (graph.vertices, labels) != (dataset.vertices, dataset.labels):
        raise InputError(
            f"{origin}: not the dataset {dataset.name}: {graph.vertices:,} vertices and {labels:,} labels, "
            f"expected {dataset.vertices:,} and {dataset.labels:,}; use another copy"
        )
    _record(dataset).write_text(f"{checksum}  {dataset.file}\n", encoding="utf-8")


def _downloader(dataset: Dataset, on_progress: Progress | None) -> Callable[[str, str, object], None]:
    """The function that pooch calls with an address and a temporary file.

    pooch gives the file its final name only if the function returns without an error.
    """

    def fetch(url: str, output: str, _: object) -> None:
        try:
            download(url, Path(output), on_progress)
        except InputError as error:
            raise InputError(
                f"{error}, so {dataset.name} could not be downloaded. Try again later, or obtain {dataset.file} "
                f"elsewhere and run `fedwalk data get {dataset.name} --from FILE`"
            ) from error
        _admit(dataset, Path(output), url)

    return fetch
