"""`fedwalk data list|get|path`: list, download and locate public graphs."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from fedwalk.cli.arguments import Commands, add_command, add_json

if TYPE_CHECKING:
    from fedwalk.util.parallel import Progress

EPILOG = """\
examples:
  fedwalk data list                            all datasets, and which are downloaded
  fedwalk data list --json                     with addresses and checksums
  fedwalk data get blogcatalog                 download it once
  fedwalk data get flickr --from flickr.mat    use a file that you already have
  fedwalk embed blogcatalog -o run             use the name as a graph

The files are kept in the system's folder for caches, or in the folder that FEDWALK_DATA names.
"""


def add_parser(commands: Commands) -> None:
    """Add the command and its three actions."""
    parser = add_command(
        commands,
        "data",
        None,
        summary="list, download and locate public graphs",
        description="Provides the labelled graphs on which DeepWalk and node2vec were evaluated. A file is downloaded "
        "once, checked and kept.",
        epilog=EPILOG,
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    every = add_command(
        actions,
        "list",
        call_list,
        summary="list all datasets",
        description="Lists all datasets, and whether they are downloaded.",
    )
    add_json(every)
    fetch = add_command(
        actions,
        "get",
        call_get,
        summary="download a dataset",
        description="Downloads a dataset unless it is there already, checks it, and prints the path of its file.",
    )
    fetch.add_argument("name", metavar="NAME", help="name of a dataset (see `fedwalk data list`)")
    fetch.add_argument("--from", type=Path, dest="file", metavar="FILE", help="copy this file instead")
    where = add_command(
        actions,
        "path",
        call_path,
        summary="print the path of a dataset's file",
        description="Checks the file of a downloaded dataset and prints its path.",
    )
    where.add_argument("name", metavar="NAME", help="name of a dataset (see `fedwalk data list`)")


def call_list(options: argparse.Namespace) -> int:
    """Print all datasets."""
    from fedwalk.cli.show import print_json, print_table
    from fedwalk.graph import datasets

    downloaded = {name: datasets.is_downloaded(name) for name in datasets.DATASETS}
    if options.json:
        folder = datasets.cache_folder()
        records = [
            {**asdict(dataset), "path": str(folder / dataset.file) if downloaded[name] else None}
            for name, dataset in datasets.DATASETS.items()
        ]
        print_json(records)
        return 0
    rows = [
        [
            name,
            f"{set_.vertices:,}",
            f"{set_.edges:,}",
            f"{set_.labels}",
            "downloaded" if downloaded[name] else "—",
            set_.source,
        ]
        for name, set_ in datasets.DATASETS.items()
    ]
    print_table(
        "Datasets", ["name", "vertices", "edges", "labels", "", "source"], rows, "edges as the source counts them"
    )
    print(f"Folder: {datasets.cache_folder()}")
    print("Next:   fedwalk data get NAME [--from FILE]")
    return 0


def call_get(options: argparse.Namespace) -> int:
    """Download or copy a dataset, and print the path of its file."""
    import pooch

    from fedwalk.graph import datasets

    pooch.get_logger().setLevel("WARNING")  # the progress bar shows the same
    dataset = datasets.find(options.name)
    if options.file is not None:
        path = datasets.put(dataset.name, options.file)
    else:
        with download_bar(dataset.file) as progress:
            path = datasets.get(dataset.name, on_progress=progress)
    if dataset.sha256 is None:
        note = (
            f"{dataset.file} has no published checksum; this copy's is recorded in {path.name}.sha256, for later checks"
        )
        print(f"fedwalk: note: {note}", file=sys.stderr)
    print(path)
    return 0


def call_path(options: argparse.Namespace) -> int:
    """Print the path of a dataset's file."""
    from fedwalk.graph import datasets

    print(datasets.path(options.name))
    return 0


@contextmanager
def download_bar(title: str) -> "Iterator[Progress]":
    """A progress bar on standard error, if that is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console, disable=not console.is_terminal) as bars:
        task = bars.add_task(title, total=None)
        # Some servers don't announce the size; without a total, rich shows that the download is going on.
        yield lambda done, total: bars.update(task, completed=done, total=total or None)
