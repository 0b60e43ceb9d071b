"""Public graphs by name: where they lie, what they hold, and a folder that keeps their files.

These are the labelled graphs of DeepWalk (KDD '14) and node2vec (KDD '16), all of them `.mat` files with `network` and
`group`. pooch keeps the folder: a file takes its name there only when it is whole and the right one. Where nobody has
published a checksum, a file must at least hold as many vertices and labels as the literature says; the sha256 of the
first one that does is written beside it and holds from then on.
"""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fedwalk.errors import InputError
from fedwalk.graph.download import Progress, download
from fedwalk.graph.graph import Graph
from fedwalk.graph.load import FORMATS, SUFFIXES, load_graph
from fedwalk.graph.text import existing_file


@dataclass(frozen=True, slots=True)
class Dataset:
    """A public graph. Edges are counted as its paper counts them; `sha256` is None where nobody has published it."""

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
    """The folder that keeps the files: FEDWALK_DATA, or else the system's place for caches."""
    if chosen := os.environ.get("FEDWALK_DATA"):
        return Path(chosen).expanduser()
    import pooch

    return Path(pooch.os_cache("fedwalk"))


def find(name: str) -> Dataset:
    """The dataset of that name, or an error that names all there are.

    Examples
    --------
    >>> find("flickr").vertices
    80513
    """
    if name not in DATASETS:
        raise InputError(f"no dataset is called {name!r}; there are {', '.join(DATASETS)} (see `fedwalk data list`)")
    return DATASETS[name]


def is_here(name: str) -> bool:
    """Whether the folder has the dataset's file; nothing is read."""
    return _place(find(name)).is_file()


def path(name: str) -> Path:
    """The dataset's file in the cache folder, after a look at its checksum.

    Raises
    ------
    InputError
        If it isn't there or isn't what it was; the message says how to get it.
    """
    dataset = find(name)
    file = _place(dataset)
    if not file.is_file():
        raise InputError(
            f"the dataset {name} isn't here yet, there is no {file}. Run `fedwalk data get {name}` to download it, "
            f"or `fedwalk data get {name} --from FILE` if you have {dataset.file}"
        )
    _check_sum(dataset, file, str(file))
    return file


def get(name: str, *, progress: Progress | None = None) -> Path:
    """Download a dataset, unless its file is here and sound.

    Parameters
    ----------
    name : str
        One of `DATASETS`.
    progress : callable, optional
        Called with (bytes that have come, bytes there are); the latter is 0 if the server doesn't say.

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
    file = Path(cache.fetch(dataset.file, downloader=_downloader(dataset, progress)))
    if _expected_sum(dataset) is None:
        _admit(dataset, file, str(file))  # somebody laid it there by hand
    return file


def put(name: str, file: str | os.PathLike[str]) -> Path:
    """Copy a dataset's file that came by another way into the cache folder, if it is the right one."""
    dataset = find(name)
    given = existing_file(file)
    place = _made_folder() / dataset.file
    partial = place.with_name(f"{place.name}.{os.getpid()}.partial")
    try:
        shutil.copyfile(given, partial)
        _admit(dataset, partial, str(given))
        partial.replace(place)
    finally:
        partial.unlink(missing_ok=True)
    return place


def load(name: str) -> Graph:
    """The graph of a dataset that is in the cache folder, with its labels."""
    return load_graph(path(name))


def resolve_graph(name_or_path: str) -> str:
    """What a command line calls a graph: a file that is there, or else a dataset, or else the text as it is.

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
    """Where the checksum of the first file is written, in the form that `sha256sum --check` reads."""
    return _place(dataset).with_name(f"{dataset.file}.sha256")


def _expected_sum(dataset: Dataset) -> str | None:
    """The published checksum, or else that of the first file that came, or else none."""
    record = _record(dataset)
    if dataset.sha256 is not None or not record.is_file():
        return dataset.sha256
    return record.read_text(encoding="utf-8").partition(" ")[0].strip()


def _check_sum(dataset: Dataset, file: Path, origin: str) -> str:
    """The file's sha256; an error if another one is expected."""
    import pooch

    found, expected = str(pooch.file_hash(str(file))), _expected_sum(dataset)
    if expected is None or found == expected:
        return found
    known = "published" if dataset.sha256 is not None else "of the first copy that came"
    other = "" if dataset.sha256 is not None else f". To trust this one instead, delete {_record(dataset)} first"
    raise InputError(
        f"{origin}: not the expected {dataset.file}: its sha256 is {found}, the one {known} is {expected}. Run "
        f"`fedwalk data get {dataset.name}` for a new copy, or name one with --from FILE{other}"
    )


def _admit(dataset: Dataset, file: Path, origin: str) -> None:
    """Check a file that has just come; where no checksum is known, by its content, and then write its checksum down."""
    found = _check_sum(dataset, file, origin)
    if _expected_sum(dataset) is not None:
        return
    try:
        graph = FORMATS[SUFFIXES[Path(dataset.file).suffix]](file)
    except InputError as error:
        raise InputError(f"not the dataset {dataset.name}: {str(error).replace(str(file), origin)}") from error
    labels = 0 if graph.labels is None else len(graph.labels.names)
    if (graph.vertices, labels) != (dataset.vertices, dataset.labels):
        raise InputError(
            f"{origin}: not the dataset {dataset.name}: {graph.vertices:,} vertices and {labels:,} labels, "
            f"it should have {dataset.vertices:,} and {dataset.labels:,}; look for another copy"
        )
    _record(dataset).write_text(f"{found}  {dataset.file}\n", encoding="utf-8")


def _downloader(dataset: Dataset, progress: Progress | None) -> Callable[[str, str, object], None]:
    """What pooch calls with an address and a temporary file, which it names and keeps only if all went well."""

    def fetch(url: str, output: str, _: object) -> None:
        try:
            download(url, Path(output), progress)
        except InputError as error:
            raise InputError(
                f"{error}, so {dataset.name} could not be downloaded. Try again later, or get {dataset.file} "
                f"by another way and run `fedwalk data get {dataset.name} --from FILE`"
            ) from error
        _admit(dataset, Path(output), url)

    return fetch
