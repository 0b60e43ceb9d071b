"""`fedwalk embed GRAPH -o RUN`: from a graph file to an embedding."""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from fedwalk.errors import SettingsError
from fedwalk.settings import CHOICES, PRESETS, Settings, read_toml

FORMATS = ("edgelist", "adjlist", "mat", "npz")
INPUTS = ("graph", "format")

EPILOG = """\
examples:
  fedwalk embed graph.edges -o run
  fedwalk embed blogcatalog.mat -o run --predictor triad --predict 1 --burst 2
  fedwalk embed blogcatalog.mat -o run --preset frugal      a quarter of the messages
  fedwalk embed graph.edges -o private --protocol ldp --epsilon 6 --budget 8
  fedwalk embed graph.csv -o baseline --protocol deepwalk
  fedwalk embed --config run/settings.toml -o again        the same run once more
  fedwalk embed graph.edges -o run --resume                after an interrupt

protocols:
  paper      FedWalk as published; its epsilon is nominal, and its privacy loss unbounded (docs/fidelity.md)
  ldp        epsilon-edge local differential privacy, proved; epsilon is the total per edge, whatever walks are drawn
             (docs/privacy.md). Useful from about ln(n / mean degree) on: 5 for BlogCatalog.
  deepwalk   the baseline: one party holds the whole graph

RUN will hold embedding.npz (arrays `nodes`, `vectors`), settings.toml, run.json (with the privacy ledger), and for
`paper` tree.npz (a scipy linkage array).
"""


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Enter the command."""
    parser = commands.add_parser(
        "embed",
        help="embed a graph",
        description="Simulate FedWalk, its provably private sibling or the DeepWalk baseline on a graph, and write a "
        "run folder. The defaults are the paper's settings.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "graph", nargs="?", metavar="GRAPH",
        help="graph file or dataset (see `fedwalk data list`); or `graph` under [input] in --config",
    )  # fmt: skip
    parser.add_argument("-o", "--output", required=True, type=Path, metavar="RUN", help="folder for the results")
    parser.add_argument("--format", choices=FORMATS, help="how to read GRAPH; by default its suffix tells")
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings as TOML; flags override them")
    held = parser.add_mutually_exclusive_group()
    held.add_argument("--resume", action="store_true", help="go on with a run that was broken off")
    held.add_argument("--force", action="store_true", help="replace the run that RUN holds")
    parser.add_argument("--keep-walks", action="store_true", help="write walks.npy too, if there are walks")
    parser.add_argument(
        "--ledger", type=Path, metavar="FILE",
        help="what the same devices released before; this run is added (default: a ledger for this run alone)",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print run.json instead of tables")
    parser.set_defaults(call=call)
    add_settings(parser)


def add_settings(parser: argparse.ArgumentParser, *, simulated: bool = True) -> None:
    """A flag for every setting; without a default, so that a flag that was given can be told from one that wasn't.

    Over real devices there is no baseline that holds the whole graph, no choice of a runtime, no seed but for what the
    server draws, and budgets are the holders' own.
    """

    def choice(group: Any, name: str, text: str, *without: str) -> None:
        default, choices = getattr(Settings(), name), [one for one in CHOICES[name] if one not in without]
        group.add_argument(f"--{name}", choices=choices, default=None, help=f"{text} (default {default})")

    def number(group: Any, name: str, letter: str, text: str, kind: type = int, default: str | None = None) -> None:
        shown = default or f"{getattr(Settings(), name.replace('-', '_')):g}"
        group.add_argument(f"--{name}", type=kind, metavar=letter, default=None, help=f"{text} (default {shown})")

    protocol = parser.add_argument_group("protocol")
    presets = "; ".join(f"{name}: {_flags(preset)}" for name, preset in PRESETS.items())
    protocol.add_argument("--preset", choices=PRESETS, default=None, help=f"settings that go together; {presets}")
    if simulated:
        choice(protocol, "protocol", "paper: FedWalk; ldp: proved privacy; deepwalk: the centralised baseline")
    else:
        choice(protocol, "protocol", "paper: FedWalk; ldp: proved privacy", "deepwalk")
    number(protocol, "epsilon", "E", "ldp: total per edge; paper: of noise and encoder, nominal", float)
    if simulated:
        number(protocol, "budget", "E", "refuse to release more per edge; counts what the ledger has", float, "none")
    number(protocol, "bins", "K", "bins of the group plan", default="⌊ln n⌋")
    choice(protocol, "tree", "builder of the tree; average needs n² memory")
    choice(protocol, "encoder", "identity writes the vertices as they are")
    walks = parser.add_argument_group("walks")
    number(walks, "walk-length", "L", "entries per walk")
    number(walks, "walks", "G", "walks per vertex")
    number(walks, "predict", "P", "chance that a visit triggers the predictor", float)
    choice(walks, "predictor", "tree: the paper's; degree, triad: ours")
    number(walks, "burst", "B", "entries that a triggered visit writes in all")
    skipgram = parser.add_argument_group("embedding")
    skipgram.add_argument(
        "--embed", choices=CHOICES["embed"], default=None,
        help="skipgram on walks, or spectral from the decoded graph (default spectral for ldp, else skipgram)",
    )  # fmt: skip
    number(skipgram, "dim", "D", "dimensions")
    number(skipgram, "window", "W", "largest window")
    number(skipgram, "negative", "N", "negative samples")
    execution = parser.add_argument_group("execution")
    drawn = "everything up to the walks is a function of it" if simulated else "of what the server draws for itself"
    number(execution, "seed", "S", drawn)
    number(execution, "threads", "T", "1 makes the vectors reproducible bit for bit too", default="all cores")
    if simulated:
        choice(execution, "runtime", "stepwise: device objects, message by message, slow")


def _flags(settings: dict[str, Any]) -> str:
    """Settings as the flags that would make them."""
    return " ".join(f"--{name.replace('_', '-')} {value}" for name, value in settings.items())


def chosen_settings(options: argparse.Namespace) -> tuple[Settings, dict[str, str | None]]:
    """Defaults, overridden by --config, by --preset, by flags; and what to read the graph from."""
    config = read_toml(options.config) if options.config else {}
    inputs = chosen_inputs(options, config.pop("input", {}))
    return flags_over(options, config), inputs


def flags_over(options: argparse.Namespace, config: dict[str, Any]) -> Settings:
    """The settings of a file, overridden by --preset and by flags."""
    flags = {name: getattr(options, name) for name in Settings.__slots__ if getattr(options, name, None) is not None}
    # Together, because a flag may mend what the file alone would get wrong.
    preset = PRESETS[options.preset] if options.preset else {}
    return Settings.from_mapping({**config, **preset, **flags}, str(options.config))


def chosen_inputs(options: argparse.Namespace, table: Any) -> dict[str, str | None]:
    """GRAPH and --format, or else those of the config's table [input]."""
    where = f"{options.config}, [input]"
    if not isinstance(table, dict) or not all(isinstance(value, str) for value in table.values()):
        raise SettingsError(f"{where}: must be a table of names between quotes: {', '.join(INPUTS)}.")
    if unknown := sorted(table.keys() - set(INPUTS)):
        raise SettingsError(f"{where}: there is no {unknown[0]!r} here, only {', '.join(INPUTS)}.")
    graph = options.graph or table.get("graph")
    if not graph:
        raise SettingsError("no graph: name a graph file, or a --config with `graph` under [input].")
    if any("\ud800" <= letter <= "\udfff" for letter in graph):
        raise SettingsError(f"{graph!a}: isn't UTF-8, and settings.toml can't hold such a name. Rename the graph file.")
    # A format beside another graph than this one says nothing about this one.
    other = options.graph and "graph" in table and table["graph"] != graph
    return {"graph": graph, "format": options.format or (None if other else table.get("format"))}


def call(options: argparse.Namespace) -> int:
    """Load, run, show."""
    settings, inputs = chosen_settings(options)
    from fedwalk.cli.show import StageBars, print_facts, print_ledger, print_messages, run_facts
    from fedwalk.graph import load_graph
    from fedwalk.graph.datasets import resolve_graph
    from fedwalk.job import embed_to_folder
    from fedwalk.run_folder import check_free

    check_free(options.output, force=options.force, resume=options.resume)
    began = time.perf_counter()
    graph = load_graph(resolve_graph(str(inputs["graph"])), format=inputs["format"])
    load_seconds = time.perf_counter() - began
    for note in graph.notes:
        print(f"fedwalk: note: {note}", file=sys.stderr)
    with StageBars(f"{settings.protocol}: {graph}") as bars:
        record = embed_to_folder(
            graph, settings, options.output, force=options.force, resume=options.resume,
            keep_walks=options.keep_walks, progress=bars, load_seconds=load_seconds, inputs=inputs,
            ledger=options.ledger,
        )  # fmt: skip
    if options.json:
        print(json.dumps(record, indent=2, ensure_ascii=False))
        return 0
    print_facts(f"{options.output}", run_facts(record))
    print_messages(record)
    print_ledger(record)
    print(f"Results: {options.output}/embedding.npz; the whole record: {options.output}/run.json")
    print(f"Next:    fedwalk evaluate {options.output} --graph {inputs['graph']} [--labels FILE]")
    print(f"         fedwalk report {options.output} [--labels FILE]   one page to look at")
    return 0
