"""`fedwalk report RUN`: one HTML file to look at a run."""

import argparse
from pathlib import Path

from fedwalk.cli.embed import FORMATS
from fedwalk.errors import InputError, RunFolderError

EPILOG = """\
examples:
  fedwalk report run                                       writes run/report.html
  fedwalk report run --graph graph.edges --labels labels.txt
  fedwalk report run --layout pca --no-evaluate -o look.html     in a moment

The file is complete in itself: it opens without a network, and loads and sends nothing. It names every vertex drawn.
"""


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Enter the command."""
    parser = commands.add_parser(
        "report",
        help="look at a run: one HTML file",
        description="Writes a page with the embedding as a map, the tree, time and memory, messages, walks, degrees, "
        "F1, what leaks, and the command to run it again.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("run", type=Path, metavar="RUN", help="run folder")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="the page (default RUN/report.html)")
    parser.add_argument("--graph", metavar="GRAPH", help="the graph that was embedded (default what run.json names)")
    parser.add_argument("--format", choices=FORMATS, help="how to read GRAPH; by default its suffix tells")
    parser.add_argument("--labels", metavar="FILE", help="labels as text: vertex label label …")
    parser.add_argument("--title", metavar="TEXT", help="of the page (default the folder's name)")
    parser.add_argument(
        "--layout", default="tsne", choices=("tsne", "pca"),
        help="how the map is made: t-SNE, or principal components, which is quick (default tsne)",
    )  # fmt: skip
    scores = parser.add_mutually_exclusive_group()
    scores.add_argument("--splits", type=int, default=3, metavar="N", help="random splits per F1 point (default 3)")
    scores.add_argument("--no-evaluate", action="store_true", help="leave F1 out")
    parser.add_argument("--threads", type=int, default=None, metavar="T", help="splits at a time (default all cores)")
    parser.set_defaults(call=call)


def call(options: argparse.Namespace) -> int:
    """Build, write, say where."""
    from fedwalk.cli.show import StageBars
    from fedwalk.report import build_report
    from fedwalk.words import bytes_text

    path = options.output or options.run / "report.html"
    if options.output and (path.is_dir() or not path.parent.is_dir()):
        raise InputError(f"{path}: no file can be there. Name one in a folder that exists.")
    with StageBars(f"report: {options.run}") as bars:
        page = build_report(
            options.run, graph=options.graph, format=options.format, labels=options.labels, title=options.title,
            layout=options.layout, splits=None if options.no_evaluate else options.splits, threads=options.threads,
            progress=bars,
        )  # fmt: skip
    write(path, page)
    print(f"{path} ({bytes_text(len(page.encode()))}): open it in a browser.")
    return 0


def write(path: Path, page: str) -> None:
    """Write the page, whole or not at all."""
    from fedwalk.run_folder import write_text

    try:
        write_text(path, page)
    except RunFolderError as error:
        # Its advice is for a run that can be resumed.
        reason = error.__cause__.strerror if isinstance(error.__cause__, OSError) else error
        raise InputError(f"{path}: can't be written: {reason}. Name another file with -o.") from error
