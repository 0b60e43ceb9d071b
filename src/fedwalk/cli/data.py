"""`fedwalk data list|get|path`: public graphs by name."""

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fedwalk.graph.download import Progress

EPILOG = """\
examples:
  fedwalk data list                            what there is, and what is here
  fedwalk data list --json                     the same with addresses and checksums
  fedwalk data get blogcatalog                 download it once
  fedwalk data get flickr --from flickr.mat    without a network
  fedwalk embed blogcatalog -o run             its name then stands for its file

The files lie in the system's folder for caches, or in the folder that FEDWALK_DATA names.
"""


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Enter the command and its three actions."""
    parser = commands.add_parser(
        "data",
        help="public graphs by name: list, download, find",
        description="The labelled graphs that DeepWalk, node2vec and their followers are measured on. A file is "
        "downloaded once, checked, and kept.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    every = actions.add_parser("list", help="what there is", description="Every dataset, and whether it is here.")
    every.add_argument("--json", action="store_true", help="print JSON instead of a table")
    every.set_defaults(call=call_list)
    fetch = actions.add_parser(
        "get",
        help="download a dataset",
        description="Download a dataset unless it is here already, check it, and print the path of its file.",
    )
    fetch.add_argument("name", metavar="NAME", help="as in `fedwalk data list`")
    fetch.add_argument("--from", type=Path, dest="file", metavar="FILE", help="copy this file, don't download")
    fetch.set_defaults(call=call_get)
    where = actions.add_parser(
        "path",
        help="where a dataset's file is",
        description="Check the file of a dataset that is here and print its path, and nothing else.",
    )
    where.add_argument("name", metavar="NAME", help="as in `fedwalk data list`")
    where.set_defaults(call=call_path)


def call_list(options: argparse.Namespace) -> int:
    """Show every dataset."""
    from fedwalk.cli.show import print_table
    from fedwalk.graph import datasets

    here = {name: datasets.is_here(name) for name in datasets.DATASETS}
    if options.json:
        folder = datasets.cache_folder()
        records = [
            {**asdict(dataset), "path": str(folder / dataset.file) if here[name] else None}
            for name, dataset in datasets.DATASETS.items()
        ]
        print(json.dumps(records, indent=2, ensure_ascii=False))
        return 0
    rows = [
        [name, f"{set_.vertices:,}", f"{set_.edges:,}", f"{set_.labels}", "here" if here[name] else "—", set_.source]
        for name, set_ in datasets.DATASETS.items()
    ]
    print_table("Datasets", ["name", "vertices", "edges", "labels", "", "source"], rows, "edges as the source counts")
    print(f"Folder: {datasets.cache_folder()}")
    print("Next:   fedwalk data get NAME [--from FILE]")
    return 0


def call_get(options: argparse.Namespace) -> int:
    """Download or copy, then print the path."""
    import pooch

    from fedwalk.graph import datasets

    pooch.get_logger().setLevel("WARNING")  # the bar says it already
    dataset = datasets.find(options.name)
    if options.file is not None:
        path = datasets.put(dataset.name, options.file)
    else:
        with download_bar(dataset.file) as progress:
            path = datasets.get(dataset.name, progress=progress)
    if dataset.sha256 is None:
        note = f"no checksum of {dataset.file} is published; this copy's is in {path.name}.sha256 and holds from now on"
        print(f"fedwalk: note: {note}", file=sys.stderr)
    print(path)
    return 0


def call_path(options: argparse.Namespace) -> int:
    """Print the path."""
    from fedwalk.graph import datasets

    print(datasets.path(options.name))
    return 0


@contextmanager
def download_bar(title: str) -> "Iterator[Progress]":
    """A bar on standard error, if that is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console, disable=not console.is_terminal) as bars:
        task = bars.add_task(title, total=None)
        yield lambda done, total: bars.update(task, completed=done, total=total or None)
