"""`fedwalk audit RUN` or `fedwalk audit GRAPH`: attack a protocol, and measure its epsilon."""

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedwalk.cli.embed import FORMATS, add_settings, chosen_settings
from fedwalk.errors import InputError, SettingsError
from fedwalk.settings import Settings

if TYPE_CHECKING:
    from fedwalk.graph import Graph

CANARIES, REPEATS = 20_000, 2_000
"""As the library has them, which isn't imported before the command runs: a test compares the two."""

EPILOG = """\
examples:
  fedwalk audit run                                    writes run/audit.json; `fedwalk report run` then shows it
  fedwalk audit graph.edges --protocol ldp --epsilon 4
  fedwalk audit graph.edges --protocol paper --epsilon 2 -o audit.json

An attack reads only what its observer sees: the server, a device, the network that carries the messages, or anyone
who is given the vectors. Its baseline has seen nothing. "found" is the share of the edges that it guesses, "right" the
share of its guesses that are edges, "limit" the most of them that epsilon allows.

"epsilon at least" is measured: canary pairs, made edges by fair coins, are guessed from what was sent, and no protocol
with a smaller epsilon would let so many be guessed right (95% confidence). The ledger's epsilon is proved.
"""


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Enter the command."""
    parser = commands.add_parser(
        "audit",
        help="attack a protocol and measure its epsilon",
        description="Simulates a run, or a finished one again, attacks it as each observer could, and says how much "
        "of the graph each attack gives away, beside a baseline.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("target", metavar="RUN|GRAPH", help="run folder; or a graph file or dataset, with settings")
    parser.add_argument("--graph", metavar="GRAPH", help="the graph of RUN (default what its run.json names)")
    parser.add_argument("--format", choices=FORMATS, help="how to read GRAPH; by default its suffix tells")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="the findings as JSON (default RUN/audit.json; none for a graph)",
    )
    parser.add_argument(
        "--canaries", type=int, default=CANARIES, metavar="M", help=f"planted pairs (default {CANARIES:,})"
    )
    parser.add_argument(
        "--repeats", type=int, default=REPEATS, metavar="R",
        help=f"runs of one device with an edge, and without (ldp; default {REPEATS:,})",
    )  # fmt: skip
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings as TOML; flags override them")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON instead of a table")
    parser.set_defaults(call=call)
    add_settings(parser)


def call(options: argparse.Namespace) -> int:
    """Find the graph and the settings, attack, show, write."""
    is_run = Path(options.target).is_dir()
    output: Path | None = options.output
    if output is not None and (output.is_dir() or not output.parent.is_dir()):
        raise InputError(f"{output}: no file can be there. Name one in a folder that exists.")
    if output is None and is_run:
        output = Path(options.target) / "audit.json"
    graph, settings, inputs = (of_run if is_run else of_graph)(options)
    from fedwalk.audit import audit
    from fedwalk.cli.report import write
    from fedwalk.cli.show import StageBars

    with StageBars(f"audit of {settings.protocol}: {graph}") as bars:
        found = audit(graph, settings, canaries=options.canaries, repeats=options.repeats, progress=bars)
    record = {"input": inputs, **found.as_dict()}
    text = json.dumps(record, indent=2, ensure_ascii=False)
    if output is not None:
        write(output, text + "\n")
    if options.json:
        print(text)
    else:
        show(options.target, record, output)
    return 0


def of_run(options: argparse.Namespace) -> "tuple[Graph, Settings, dict[str, str | None]]":
    """A run's graph and settings; its seed makes every message again."""
    from fedwalk.job import read_run

    path = Path(options.target)
    given = [name for name in (*Settings.__slots__, "preset", "config") if getattr(options, name, None) is not None]
    if other := [name for name in given if name != "threads"]:
        flag = f"--{other[0].replace('_', '-')}"
        raise SettingsError(f"{flag}: {path} has its own settings. Leave it out, or audit the graph in place of RUN.")
    record = read_run(path)
    if record.get("federation"):
        raise InputError(
            f"{path}: was a federation's run, with noise that nobody can draw again. Audit its settings on a graph "
            "that you hold: fedwalk audit GRAPH, with the run's flags."
        )
    recorded = {} if options.graph else record.get("input") or {}
    inputs = {"graph": options.graph or recorded.get("graph"), "format": options.format or recorded.get("format")}
    if inputs["graph"] is None:
        raise InputError(f"{path}/run.json doesn't name the graph's file. Give it with --graph.")
    graph = load(inputs)
    if graph.fingerprint() != record["graph"].get("fingerprint"):
        raise InputError(f"{inputs['graph']}: isn't the graph of this run (its fingerprint differs). Use --graph.")
    settings = Settings.from_mapping(record["settings"], f"{path}/run.json")
    return graph, settings.updated({"threads": options.threads or settings.threads}), inputs


def of_graph(options: argparse.Namespace) -> "tuple[Graph, Settings, dict[str, str | None]]":
    """A graph, and settings from flags."""
    if options.graph:
        raise SettingsError(f"--graph goes with a run folder, and {options.target} is none.")
    named = argparse.Namespace(**{**vars(options), "graph": options.target})
    settings, inputs = chosen_settings(named)
    return load(inputs), settings, inputs


def load(inputs: dict[str, str | None]) -> "Graph":
    """The graph, with a word on what was repaired."""
    from fedwalk.graph import load_graph
    from fedwalk.graph.datasets import resolve_graph

    graph = load_graph(resolve_graph(str(inputs["graph"])), format=inputs["format"])
    for note in graph.notes:
        print(f"fedwalk: note: {note}", file=sys.stderr)
    return graph


def show(target: str, record: dict[str, Any], output: Path | None) -> None:
    """A row per attack, then the two epsilons."""
    from fedwalk.audit import metrics_text
    from fedwalk.cli.show import print_facts, print_table

    rows = [
        [finding["attack"], finding["observer"], metrics_text(finding["success"]), metrics_text(finding["baseline"])]
        for finding in record["findings"]
    ]
    print_table(f"{record['protocol']}: {target}", ["attack", "observer", "success", "baseline"], rows)
    ledger, bound = record["epsilon"]["ledger"], record["epsilon"]["at_least"]
    measured = "not measured" if bound is None else f"{bound:.3g} ({record['confidence']:.0%} confidence)"
    proved = ledger if isinstance(ledger, str) else f"{ledger:g} per edge"
    print_facts("Privacy", [("epsilon at least", measured), ("the ledger's", proved)])
    if bound is not None and not isinstance(ledger, str) and bound > ledger:
        print("Above the ledger's: sound devices show this by chance in one audit of twenty.")
        print("Audit the graph with other values of --seed; if it stays above, the devices are broken.")
    if output is not None:
        print(f"Each finding in a sentence: {output}")
