"""`fedwalk reproduce GRAPH -o DIR`: run the paper's experiments and compare its claims with the results."""

import argparse
from pathlib import Path

from fedwalk.cli.arguments import Commands, add_command, add_labels, add_threads
from fedwalk.errors import SettingsError

EPILOG = """\
examples:
  fedwalk reproduce blogcatalog -o results                      all experiments: about fifty minutes on two cores
  fedwalk reproduce blogcatalog -o results --figure 5,theorems
  fedwalk reproduce flickr-like -o results --figure 6           a generated graph of Flickr's size
  fedwalk reproduce graph.mat -o results --seeds 2 --num-walks 20   your own graph with labels, quicker
  fedwalk reproduce graph.edges -o results --labels labels.txt  labels from a file

figures:
  5, 6       FedWalk against DeepWalk over the share of labelled vertices
  7, 8       the number of bins k; the noise parameter
  9          the predictor's probability p: hops per walk and micro-F1
  theorems   both theorems compared with measurements
  frontier   micro-F1 against hops for every predictor and increasing bursts (ours)
  links      link prediction (ours)
  ldp        micro-F1 against epsilon for the protocol with proved privacy (ours)

DIR will contain index.html, summary.md, results.json, tables as CSV, figures/ as PNG and SVG, and trials/ with the
scores of every finished trial. After an interrupt, run the same command again: finished trials aren't repeated.
Generated graphs: flickr-like, social-like, protein-like, citation-like. Datasets: see `fedwalk data list`.
"""


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "reproduce",
        call,
        summary="run the paper's experiments",
        description="Runs the paper's experiments on its datasets or on your own graph. Writes tables, figures and an "
        "HTML page, and compares the paper's claims with the results.",
        epilog=EPILOG,
    )
    parser.add_argument("graph", metavar="GRAPH", help="dataset, generated graph, or graph file")
    add_labels(parser)
    parser.add_argument("-o", "--output", required=True, type=Path, metavar="DIR", help="folder for the results")
    parser.add_argument("--figure", default="all", metavar="F,F,…", help="which experiments (default all)")
    parser.add_argument(
        "--seeds", type=int, default=3, metavar="N", help="number of seeds; every trial runs once per seed (default 3)"
    )
    parser.add_argument("--splits", type=int, default=5, metavar="N", help="random splits per T_R (default 5)")
    parser.add_argument(
        "--num-walks", type=int, default=80, metavar="G", help="largest number of walks per vertex (default 80)"
    )
    add_threads(parser)
    parser.add_argument(
        "--no-figures", action="store_true", help="write only tables and the page; matplotlib isn't needed"
    )


def call(options: argparse.Namespace) -> int:
    """Run the chosen experiments and print the paper's claims with the results."""
    for name in ("seeds", "splits", "num_walks"):
        if getattr(options, name) < 1:
            raise SettingsError(f"{name.replace('_', '-')} = {getattr(options, name)}: at least 1.")
    from fedwalk.cli.show import StageBars, print_table
    from fedwalk.experiments.outcome import UNTESTED, VERDICTS
    from fedwalk.experiments.plots import check_available
    from fedwalk.experiments.publish import read_claims, summary
    from fedwalk.experiments.reproduce import chosen, reproduce
    from fedwalk.experiments.setup import set_up

    if not options.no_figures:
        # Now and not after the trials, which can take an hour.
        check_available()
    experiments = chosen(options.figure)
    setup = set_up(
        options.graph, labels=options.labels, seeds=options.seeds, splits=options.splits, num_walks=options.num_walks,
        threads=options.threads,
    )  # fmt: skip
    with StageBars(f"{setup.title}: {setup.graph}") as bars:
        page = reproduce(
            setup, experiments, options.output,
            command=command_line(options), figures=not options.no_figures, on_progress=bars,
        )  # fmt: skip
    # The fifth column of claims.csv is the verdict.
    claims = read_claims(options.output)
    tested = [row for row in claims if row[4] != UNTESTED]
    if tested:
        print_table("The paper's claims", ["claim", "paper", "here", "verdict"], [row[1:5] for row in tested])
    if claims:
        verdicts = [row[4] for row in claims]
        print(f"{summary({verdict: verdicts.count(verdict) for verdict in VERDICTS})}\n")
    print(f"Page:    {page}")
    print(f"Tables:  {options.output}/summary.md, {options.output}/*.csv, {options.output}/results.json")
    return 0


def command_line(options: argparse.Namespace) -> str:
    """The command that reproduces these results, without the folder."""
    text = f"fedwalk reproduce {Path(options.graph).name}"
    if options.labels:
        text += f" --labels {Path(options.labels).name}"
    # Only options that decide what is measured: not --threads, and not --no-figures.
    for name, default in (("figure", "all"), ("seeds", 3), ("splits", 5), ("num_walks", 80)):
        if getattr(options, name) != default:
            text += f" --{name.replace('_', '-')} {getattr(options, name)}"
    return text
