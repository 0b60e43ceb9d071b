"""`fedwalk reproduce GRAPH -o DIR`: the paper's experiments, and what becomes of its claims."""

import argparse
from pathlib import Path

from fedwalk.errors import SettingsError

EPILOG = """\
examples:
  fedwalk reproduce blogcatalog -o results                      everything: fifty minutes on two cores
  fedwalk reproduce blogcatalog -o results --figure 5,theorems
  fedwalk reproduce flickr-like -o results --figure 6           a generated graph of Flickr's size
  fedwalk reproduce graph.mat -o results --seeds 2 --walks 20   your own graph with labels, quicker

figures:
  5, 6       FedWalk against DeepWalk over the share of labelled vertices
  7, 8       the number of bins k; the noise parameter
  9          the predictor's probability p: hops per walk and micro-F1
  theorems   both theorems against measurement
  frontier   micro-F1 against hops for every predictor and growing bursts (ours)
  links      link prediction (ours)
  ldp        micro-F1 against epsilon for the protocol with proved privacy (ours)

DIR will hold index.html, summary.md, results.json, tables as CSV, figures/ as PNG and SVG, and trials/: every finished
embedding's scores. Run the same command again after an interrupt: finished trials aren't run twice.
Generated graphs: flickr-like, social-like, protein-like, citation-like. Datasets: see `fedwalk data list`.
"""


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Enter the command."""
    parser = commands.add_parser(
        "reproduce",
        help="the paper's experiments in one command",
        description="Runs what the paper ran, on its datasets or on a graph of yours, and writes tables, figures, one "
        "page, and the paper's claims beside what was found.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("graph", metavar="GRAPH", help="dataset, generated graph, or graph file with labels")
    parser.add_argument("-o", "--output", required=True, type=Path, metavar="DIR", help="folder for the results")
    parser.add_argument("--figure", default="all", metavar="F,F,…", help="which experiments (default all)")
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="runs of everything (default 3)")
    parser.add_argument("--splits", type=int, default=5, metavar="N", help="splits per T_R (default 5)")
    parser.add_argument("--walks", type=int, default=80, metavar="G", help="most walks per vertex (default 80)")
    parser.add_argument("--threads", type=int, default=None, metavar="T", help="default all cores")
    parser.add_argument("--no-figures", action="store_true", help="tables and page only; needs no matplotlib")
    parser.set_defaults(call=call)


def call(options: argparse.Namespace) -> int:
    """Set up, run, show."""
    for name in ("seeds", "splits", "walks"):
        if getattr(options, name) < 1:
            raise SettingsError(f"{name} = {getattr(options, name)}: at least 1.")
    from fedwalk.cli.show import StageBars, print_table
    from fedwalk.experiments.plots import check_available
    from fedwalk.experiments.publish import read_claims
    from fedwalk.experiments.reproduce import chosen, reproduce
    from fedwalk.experiments.setup import set_up

    if not options.no_figures:
        check_available()
    experiments = chosen(options.figure)
    setup = set_up(
        options.graph, seeds=options.seeds, splits=options.splits, walks=options.walks, threads=options.threads
    )
    with StageBars(f"{setup.title}: {setup.graph}") as bars:
        page = reproduce(
            setup, experiments, options.output,
            command=command_line(options), figures=not options.no_figures, progress=bars,
        )  # fmt: skip
    tested = [row for row in read_claims(options.output) if row[4] != "can't be tested"]
    if tested:
        print_table("The paper's claims", ["claim", "paper", "here", "verdict"], [row[1:5] for row in tested])
    print(f"Page:    {page}")
    print(f"Tables:  {options.output}/summary.md, {options.output}/*.csv, {options.output}/results.json")
    return 0


def command_line(options: argparse.Namespace) -> str:
    """The command that gives these results again, without the folder."""
    text = f"fedwalk reproduce {Path(options.graph).name}"
    for name, usual in (("figure", "all"), ("seeds", 3), ("splits", 5), ("walks", 80)):
        if getattr(options, name) != usual:
            text += f" --{name} {getattr(options, name)}"
    return text
