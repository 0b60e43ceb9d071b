"""Arguments that several commands have in common, so that they have the same names and the same help everywhere."""

import argparse
import shutil
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from fedwalk.cli.parser import Parser
from fedwalk.errors import InputError

if TYPE_CHECKING:
    from fedwalk.graph import Graph

FORMATS = ("edgelist", "csv", "adjlist", "parquet", "graphml", "gml", "nodelink", "mtx", "mat", "npz")
"""The same as in fedwalk.graph.formats, which isn't imported before a command runs; a test compares the two."""

COLUMNS = ("source", "target", "weight")
"""What can be chosen in a table of edges."""


Commands: TypeAlias = "argparse._SubParsersAction[Parser]"
"""What `ArgumentParser.add_subparsers` returns; argparse has no public name for it."""


def add_command(
    commands: Commands,
    name: str,
    call: Callable[[argparse.Namespace], int] | None,
    *,
    summary: str,
    description: str,
    epilog: str | None = None,
) -> Parser:
    """Add a command that runs `call`; a command with actions of its own has none, and prints its help without one.

    `summary` is its line in the list of commands. The line breaks of `epilog` are kept.
    """
    # argparse can keep the line breaks of both texts or of neither, so the description is wrapped here.
    width = shutil.get_terminal_size().columns - 2
    parser = commands.add_parser(
        name,
        help=summary,
        description=textwrap.fill(description, width),
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(call=call or print_help(parser))
    return parser


def print_help(parser: Parser) -> Callable[[argparse.Namespace], int]:
    """What a command does that was given no action: print its help, as pip does, which isn't an error."""

    def call(options: argparse.Namespace) -> int:
        parser.print_help()
        return 0

    return call


def add_run_graph(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """Add --graph, --format and --labels, for commands that read a finished run."""
    default = "" if required else " (default: the one that run.json names)"
    text = f"the graph that was embedded: a file or a dataset{default}"
    parser.add_argument("--graph", required=required, metavar="GRAPH", help=text)
    add_format(parser)
    add_labels(parser)


def add_labels(parser: argparse.ArgumentParser) -> None:
    """Add --labels."""
    parser.add_argument(
        "--labels", metavar="FILE",
        help="labels as text, in lines of: vertex label label …; or attribute:NAME, a node attribute of GRAPH",
    )  # fmt: skip


def add_format(parser: argparse.ArgumentParser) -> None:
    """Add --format."""
    parser.add_argument("--format", choices=FORMATS, help="format of GRAPH (default: by its suffix and content)")


def add_columns(parser: argparse.ArgumentParser) -> None:
    """Add --source, --target and --weight, which choose the columns of a table of edges."""
    for name, what in zip(COLUMNS, ("one end", "the other end", "the weight (or the edge attribute)"), strict=True):
        text = f"column of GRAPH with {what} of an edge (default: by its name)"
        parser.add_argument(f"--{name}", dest=f"{name}_column", metavar="COLUMN", help=text)


def chosen_columns(options: argparse.Namespace) -> dict[str, str]:
    """The columns that were chosen with flags."""
    chosen = {name: getattr(options, f"{name}_column", None) for name in COLUMNS}
    return {name: column for name, column in chosen.items() if column is not None}


def add_config(parser: argparse.ArgumentParser) -> None:
    """Add --config."""
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings as TOML; flags override them")


def add_seed(parser: argparse.ArgumentParser, purpose: str) -> None:
    """Add --seed."""
    parser.add_argument("--seed", type=int, default=0, metavar="S", help=f"seed of {purpose} (default 0)")


def add_threads(parser: argparse.ArgumentParser, what: str = "number of threads") -> None:
    """Add --threads."""
    parser.add_argument("--threads", type=int, default=None, metavar="T", help=f"{what} (default: all cores)")


def add_json(parser: argparse.ArgumentParser, instead_of: str = "a table") -> None:
    """Add --json."""
    parser.add_argument("--json", action="store_true", help=f"print JSON instead of {instead_of}")


def check_output_file(path: Path) -> None:
    """Raise InputError now if the file can't be written at the end."""
    if path.is_dir() or not path.parent.is_dir():
        raise InputError(f"{path}: can't be a file. Name a file in an existing folder.")


def load_input(inputs: dict[str, str | None]) -> "Graph":
    """Load the graph that `chosen_settings` returned, and print its notes on standard error."""
    from fedwalk.graph import load_graph
    from fedwalk.graph.datasets import resolve_graph

    columns = {name: inputs.get(name) for name in COLUMNS}
    graph = load_graph(resolve_graph(str(inputs["graph"])), format=inputs["format"], **columns)
    print_notes(graph)
    return graph


def print_notes(graph: "Graph") -> None:
    """Print what was repaired or ignored while the graph was loaded, on standard error."""
    for note in graph.notes:
        print(f"fedwalk: note: {note}", file=sys.stderr)
