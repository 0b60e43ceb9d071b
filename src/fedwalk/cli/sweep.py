"""`fedwalk sweep GRAPH --vary SETTING=V,V,… -o DIR`: run and score every combination of some settings."""

import argparse
import shlex
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedwalk.cli.arguments import Commands, add_command, add_config, add_format, add_json, add_labels, print_notes
from fedwalk.cli.embed import add_settings, chosen_inputs, flags_over, given_flags
from fedwalk.cli.evaluate import parse_ratios
from fedwalk.errors import SettingsError
from fedwalk.settings import PRESETS, Settings, read_toml
from fedwalk.util.text import counted

if TYPE_CHECKING:
    from fedwalk.experiments.settings_sweep.definition import Sweep
    from fedwalk.experiments.settings_sweep.grid import Varied
    from fedwalk.experiments.settings_sweep.results import SweepResults

SCORES = ("labels", "links", "none")
"""The same as in fedwalk.experiments.settings_sweep, which isn't imported before the command runs; a test compares."""

EPILOG = """\
examples:
  fedwalk sweep citation-like --vary predict=0,0.2,0.4 -o sweep --num-walks 10      a generated graph with labels
  fedwalk sweep graph.edges --labels labels.txt --vary epsilon=0.5,1,2 --vary predict=0,0.2 -o sweep
  fedwalk sweep graph.edges --labels labels.txt --vary protocol=paper,ldp,deepwalk --seeds 5 -o protocols
  fedwalk sweep graph.edges --protocol ldp --vary epsilon=2,4,6,8 -o private        no labels: link prediction
  fedwalk sweep graph.edges --vary predictor=tree,degree,triad --vary burst=2,4,8 --score none -o hops

--vary takes any setting that has a flag below, except seed, threads and budget; also a setting that only the chosen
protocol has. All other flags apply to every trial. Every combination runs once per seed.

scores:
  labels     micro- and macro-F1 of predicted labels; the default if the graph has labels (docs/evaluation.md)
  links      AUC and average precision of held-out edges; the default if it has none
  none       costs only

DIR will contain index.html, results.csv (a row per trial), summary.csv (mean and standard deviation over the seeds),
sweep.json, figures/ as PNG and SVG, and trials/ with the numbers of every finished trial. After an interrupt, or with
one more value, run the command again: finished trials aren't repeated. With another graph, other labels or another
evaluation, all trials are new.
Generated graphs: flickr-like, social-like, protein-like, citation-like. Datasets: see `fedwalk data list`.
"""


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "sweep",
        call,
        summary="run and score every combination of some settings",
        description="Embeds a graph with every combination of the varied settings and several seeds, scores each "
        "embedding, and writes tables, figures and an HTML page. It can be interrupted and continued.",
        epilog=EPILOG,
    )
    parser.add_argument(
        "graph", nargs="?", metavar="GRAPH",
        help="graph file, dataset or generated graph (or `graph` under [input] in --config)",
    )  # fmt: skip
    parser.add_argument(
        "--vary", action="append", required=True, metavar="NAME=V,V,…", help="a setting and its values; repeatable"
    )
    parser.add_argument("-o", "--output", required=True, type=Path, metavar="DIR", help="folder for the results")
    parser.add_argument(
        "--seeds", type=int, default=3, metavar="N", help="number of seeds, counted from --seed (default 3)"
    )
    add_labels(parser)
    add_format(parser)
    add_config(parser)
    _add_scoring(parser)
    parser.add_argument(
        "--no-figures", action="store_true", help="write only tables and the page; matplotlib isn't needed"
    )
    add_json(parser)
    parser.add_later(add_settings)


def _add_scoring(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("scoring")
    group.add_argument("--score", choices=SCORES, help="what to score (default: labels if there are any, else links)")
    group.add_argument(
        "--train-ratio", default="0.5", metavar="R,R,…",
        help="labels: shares of the labelled vertices to train on; figures show the largest (default 0.5)",
    )  # fmt: skip
    group.add_argument("--splits", type=int, default=5, metavar="N", help="labels: random splits (default 5)")
    group.add_argument(
        "--rule", default="known-count", choices=("known-count", "threshold"),
        help="labels: how many to predict, as in `fedwalk evaluate` (default known-count)",
    )  # fmt: skip
    group.add_argument(
        "--held-out", type=float, default=0.2, metavar="R", help="links: share of the edges to hold out (default 0.2)"
    )


def call(options: argparse.Namespace) -> int:
    """Run the sweep, write its files, and print the summary."""
    for name in ("seeds", "splits"):
        if getattr(options, name) < 1:
            raise SettingsError(f"{name} = {getattr(options, name)}: at least 1.")
    _show_notes_once()
    from fedwalk.cli.show import StageBars, print_json
    from fedwalk.experiments.plots import check_available
    from fedwalk.experiments.settings_sweep.definition import check
    from fedwalk.experiments.settings_sweep.run import count_missing, publish_sweep, reserved, run_sweep

    if not options.no_figures:
        # Now and not after the trials, which can take hours.
        check_available()
    sweep = chosen_sweep(options)
    check(sweep, options.output)
    with reserved(options.output):
        with StageBars(_title(sweep, count_missing(sweep, options.output))) as bars:
            results = run_sweep(sweep, options.output, partial(bars, "trials"))
            bars("trials", 1, 1)
        record = publish_sweep(
            sweep, results, options.output, command=command_line(options), figures=not options.no_figures
        )
    if options.json:
        print_json(record)
        return 0
    print_summary(sweep, results)
    print(f"Page:    {options.output}/index.html")
    print(f"Tables:  {options.output}/summary.csv, {options.output}/results.csv, {options.output}/sweep.json")
    return 0


def _show_notes_once() -> None:
    """Print a note about the graph or the settings once and not for every trial; `main` undoes this at its end."""
    show = warnings.showwarning
    shown = set()

    # Not the filter "once": it forgets what was shown whenever a library changes the filters for a while.
    def show_once(message: Warning | str, category: type[Warning], *others: Any, **named: Any) -> None:
        if str(message) not in shown:
            shown.add(str(message))
            show(message, category, *others, **named)

    warnings.showwarning = show_once


def chosen_sweep(options: argparse.Namespace) -> "Sweep":
    """The sweep that the options describe, with all combinations checked before the graph is loaded."""
    from fedwalk.experiments.settings_sweep.definition import Sweep, default_score
    from fedwalk.experiments.settings_sweep.grid import combine
    from fedwalk.experiments.setup import Setup, find_graph

    config = read_toml(options.config) if options.config else {}
    inputs = chosen_inputs(options, config.pop("input", {}))
    varied = chosen_varied(options, config)
    combinations = combine(varied, lambda values: flags_over(options, config, values))
    settings, ratios = combinations[0].settings, tuple(sorted(set(parse_ratios(options.train_ratio))))
    title, graph, dataset = find_graph(str(inputs["graph"]), file_format=inputs["format"], labels=options.labels)
    print_notes(graph)
    names = " and ".join(one.name for one in varied)
    setup = Setup(
        f"{title}: {names} varied", graph, dataset, ratios, (), (), (),
        seeds=options.seeds, splits=options.splits, threads=settings.threads, rule=options.rule,
    )  # fmt: skip
    score = options.score or default_score(graph)
    return Sweep(setup, varied, combinations, settings.seed, score, options.held_out)


def chosen_varied(options: argparse.Namespace, config: dict[str, Any]) -> "list[Varied]":
    """The varied settings; SettingsError if one of them also has a flag."""
    from fedwalk.experiments.settings_sweep.grid import parse_varied

    flags = given_flags(options)
    preset = PRESETS[options.preset] if options.preset else {}
    varied = parse_varied(options.vary, {**config, **preset, **flags}.get("protocol", Settings().protocol))
    for one in varied:
        if one.name in flags:
            flag = f"--{one.name.replace('_', '-')}"
            raise SettingsError(f"{flag} and --vary {one.name}: give only one of them.")
    return varied


def _title(sweep: "Sweep", missing: int) -> str:
    trials = len(sweep.combinations) * len(sweep.seeds)
    kept = f", {trials - missing} of them finished before" if missing < trials else ""
    return f"{sweep.setup.graph}: {counted(trials, 'trial', 'trials')}{kept}"


def print_summary(sweep: "Sweep", results: "SweepResults") -> None:
    """Print a row per combination: the first two scores and the costs."""
    from fedwalk.cli.show import print_table
    from fedwalk.experiments.settings_sweep.results import COSTS, Summary, summarise, values_of
    from fedwalk.privacy.ledger import or_unbounded
    from fedwalk.util.text import epsilon_text

    # Files have all scores. A terminal has room for those of one training ratio or method, and for mean costs.
    scores = [measure for measure in sweep.measures if measure not in COSTS][:2]
    costs = [measure for measure in COSTS if measure.name != "messages"]
    rows = [
        [
            ", ".join(values_of(group[0])),
            *(summarise(group, measure.name).text(measure) for measure in scores),
            *(Summary(summarise(group, measure.name).mean, None).text(measure) for measure in costs),
            epsilon_text(or_unbounded(group[0].proved_epsilon)),
        ]
        for group in results.combinations()
    ]
    names = ", ".join(one.name for one in sweep.varied)
    header = [names, *(measure.short for measure in (*scores, *costs)), "proved ε"]
    seeds = len(sweep.seeds)
    deviation = " ± sample standard deviation" if scores else ""
    spread = f"mean{deviation} over {seeds} seeds" if seeds > 1 else "one seed, no deviation"
    units = "hops per walk, bytes and time per run"
    risk = "not measured here: how many edges the server finds (fedwalk audit GRAPH, with the same settings)"
    print_table(sweep.setup.title, header, rows, f"{sweep.note}\n{spread}; {units}\n{risk}")


def command_line(options: argparse.Namespace) -> str:
    """The command that repeats this sweep, without the folder."""
    words = ["fedwalk", "sweep", *([Path(options.graph).name] if options.graph else [])]
    for text in options.vary:
        words += ["--vary", text]
    words += ["--seeds", str(options.seeds)]
    for name, default in (
        ("labels", None), ("format", None), ("config", None), ("preset", None), ("score", None),
        ("train_ratio", "0.5"), ("splits", 5), ("rule", "known-count"), ("held_out", 0.2),
    ):  # fmt: skip
        value = getattr(options, name)
        if value != default:
            words += [f"--{name.replace('_', '-')}", Path(value).name if name in ("labels", "config") else str(value)]
    for name, value in given_flags(options).items():
        # The number of threads doesn't decide what is measured.
        if name != "threads":
            words += [f"--{name.replace('_', '-')}", str(value)]
    return shlex.join(words)
