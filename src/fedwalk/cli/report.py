"""`fedwalk report RUN`: show a run as one HTML file."""

import argparse
from pathlib import Path

from fedwalk.cli.arguments import Commands, add_command, add_run_graph, add_threads, check_output_file
from fedwalk.errors import InputError, RunFolderError

EPILOG = """\
examples:
  fedwalk report run                                       writes run/report.html
  fedwalk report run --graph graph.edges --labels labels.txt
  fedwalk report run --baseline deepwalk-run --baseline ldp-run    side by side
  fedwalk report run --layout pca --no-evaluate -o page.html     fast

The file is self-contained: it opens offline, and loads and sends nothing. It contains the name of every vertex drawn.
"""


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "report",
        call,
        summary="show a run as one HTML file",
        description="Writes an HTML page with a verdict in three sentences, a map of the embedding, F1, attacks, "
        "privacy, the tree, walks, degrees, messages, time and memory, and the command to repeat the run.",
        epilog=EPILOG,
    )
    parser.add_argument("run", type=Path, metavar="RUN", help="run folder")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="file to write (default RUN/report.html)")
    add_run_graph(parser, required=False)
    parser.add_argument(
        "--baseline", type=Path, action="append", default=[], metavar="RUN",
        help="another run of the same graph, to compare with; can be given several times",
    )  # fmt: skip
    parser.add_argument("--title", metavar="TEXT", help="title of the page (default: the folder's name)")
    parser.add_argument(
        "--layout", default="tsne", choices=("tsne", "pca"),
        help="layout of the map: t-SNE, or principal components, which is faster (default tsne)",
    )  # fmt: skip
    scores = parser.add_mutually_exclusive_group()
    scores.add_argument("--splits", type=int, default=3, metavar="N", help="random splits per F1 point (default 3)")
    scores.add_argument("--no-evaluate", action="store_true", help="leave out F1")
    add_threads(parser, "number of splits scored in parallel")


def call(options: argparse.Namespace) -> int:
    """Build the page, write it and print its path."""
    from fedwalk.cli.show import StageBars
    from fedwalk.report import build_report
    from fedwalk.run.folder import REPORT_FILE
    from fedwalk.util.text import bytes_text

    path = options.output or options.run / REPORT_FILE
    if options.output:
        check_output_file(path)
    with StageBars(f"report: {options.run}") as bars:
        page = build_report(
            options.run, graph=options.graph, format=options.format, labels=options.labels,
            baselines=options.baseline, title=options.title, layout=options.layout,
            splits=None if options.no_evaluate else options.splits, threads=options.threads,
            on_progress=bars,
        )  # fmt: skip
    write(path, page)
    print(f"{path} ({bytes_text(len(page.encode()))}): open it in a browser.")
    return 0


def write(path: Path, page: str) -> None:
    """Write the page. An existing file is replaced only by a complete one."""
    from fedwalk.run.folder import write_text

    try:
        write_text(path, page)
    except RunFolderError as error:
        # The error's own advice is about resuming a run, which doesn't apply here.
        reason = error.__cause__.strerror if isinstance(error.__cause__, OSError) else error
        raise InputError(f"{path}: can't be written: {reason}. Name another file with -o.") from error
