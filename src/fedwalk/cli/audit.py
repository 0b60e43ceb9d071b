"""`fedwalk audit RUN` or `fedwalk audit GRAPH`: attack a protocol, and measure its epsilon."""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedwalk.cli.arguments import (
    COLUMNS,
    Commands,
    add_columns,
    add_command,
    add_config,
    add_format,
    add_json,
    check_output_file,
    chosen_columns,
    load_input,
)
from fedwalk.cli.embed import add_settings, chosen_settings, given_flags
from fedwalk.errors import InputError, SettingsError
from fedwalk.settings import Settings

if TYPE_CHECKING:
    from fedwalk.graph import Graph

CANARIES, REPEATS = 20_000, 2_000
"""The same as in fedwalk.audit, which isn't imported before the command runs; a test compares the two."""

EPILOG = """\
examples:
  fedwalk audit run                                    writes run/audit.json; `fedwalk report run` then shows it
  fedwalk audit graph.edges --protocol ldp --epsilon 4
  fedwalk audit graph.edges --protocol paper --epsilon 2 -o audit.json

An attack reads only what its observer sees: the server, a device, the network that carries the messages, or anyone
who receives the vectors. Its baseline sees nothing. "of edges" is the share of the edges that the attack guesses,
"right" the share of its guesses that are edges, and "limit" the largest such share that epsilon allows if each pair is
judged by its own report alone.

"epsilon at least" is measured: fair coins decide which of the canary pairs are edges, the attack guesses them from what
was sent, and with a smaller epsilon so many right guesses would be too unlikely (95% confidence). The ledger's epsilon
is proved.
"""


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "audit",
        call,
        summary="attack a protocol and measure its epsilon",
        description="Simulates a run, or repeats a finished one, attacks it as each observer could, and prints how "
        "much of the graph each attack recovers, compared with a baseline.",
        epilog=EPILOG,
    )
    parser.add_argument("target", metavar="RUN|GRAPH", help="run folder; or a graph file or dataset, with settings")
    parser.add_argument("--graph", metavar="GRAPH", help="the graph of RUN (default: the one that run.json names)")
    add_format(parser)
    add_columns(parser)
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="JSON file for the findings (default RUN/audit.json; none for a graph)",
    )
    parser.add_argument(
        "--canaries", type=int, default=CANARIES, metavar="M", help=f"number of planted pairs (default {CANARIES:,})"
    )
    parser.add_argument(
        "--repeats", type=int, default=REPEATS, metavar="R",
        help=f"runs of one device with an edge, and as many without it (default {REPEATS:,})",
    )  # fmt: skip
    add_config(parser)
    add_json(parser)
    parser.add_later(add_settings)


def call(options: argparse.Namespace) -> int:
    """Load the graph and the settings, run the attacks, and write and print the findings."""
    is_run = Path(options.target).is_dir()
    output: Path | None = options.output
    if output is not None:
        # Before the attacks, which can take minutes.
        check_output_file(output)
    elif is_run:
        from fedwalk.run.folder import AUDIT_FILE

        output = Path(options.target) / AUDIT_FILE
    graph, settings, inputs = (of_run if is_run else of_graph)(options)
    from fedwalk.audit import audit
    from fedwalk.cli.report import write
    from fedwalk.cli.show import StageBars

    with StageBars(f"audit of {settings.protocol}: {graph}") as bars:
        result = audit(graph, settings, canaries=options.canaries, repeats=options.repeats, on_progress=bars)
    record = {"input": inputs, **result.as_dict()}
    text = json.dumps(record, indent=2, ensure_ascii=False)
    if output is not None:
        write(output, text + "\n")
    if options.json:
        print(text)
    else:
        show(options.target, record, output)
    return 0


def of_run(options: argparse.Namespace) -> "tuple[Graph, Settings, dict[str, str | None]]":
    """The graph and settings of a run. The same seed gives the same messages again."""
    from fedwalk.embedding import Embedding
    from fedwalk.run.record import graph_of_run, read_run

    path = Path(options.target)
    given = [*given_flags(options), *(name for name in ("preset", "config") if getattr(options, name) is not None)]
    # The number of threads changes no message, so it may differ from the run's.
    if other := [name for name in given if name != "threads"]:
        flag = f"--{other[0].replace('_', '-')}"
        raise SettingsError(f"{flag}: {path} has its own settings. Leave it out, or audit the graph instead of RUN.")
    record = read_run(path)
    if record.federation is not None:
        raise InputError(
            f"{path}: was a federation's run, whose noise can't be drawn again. Audit its settings on a graph that you "
            f"have: fedwalk audit GRAPH --config {path / 'settings.toml'}"
        )
    # The recorded format is that of the recorded file, not of the one that --graph names.
    recorded = {} if options.graph else record.input
    columns = {name: recorded[name] for name in COLUMNS if name in recorded} | chosen_columns(options)
    inputs = {
        "graph": options.graph or recorded.get("graph"),
        "format": options.format or recorded.get("format"),
        **columns,
    }
    if inputs["graph"] is None:
        raise InputError(f"{path}/run.json doesn't name the graph's file. Give it with --graph.")
    # The run's noise is drawn again by the number of each vertex, so the order has to be the run's.
    names = Embedding.load(path).nodes
    graph = graph_of_run(load_input(inputs), record, names, str(inputs["graph"]))
    settings = Settings.from_mapping(record.settings, f"{path}/run.json")
    if options.threads is not None:
        settings = settings.updated({"threads": options.threads})
    return graph, settings, inputs


def of_graph(options: argparse.Namespace) -> "tuple[Graph, Settings, dict[str, str | None]]":
    """The graph that was named, and settings from --config and flags."""
    if options.graph:
        raise SettingsError(f"--graph can only be used with a run folder; {options.target} isn't one.")
    # `chosen_settings` expects the graph where `fedwalk embed` has it.
    named = argparse.Namespace(**{**vars(options), "graph": options.target})
    settings, inputs = chosen_settings(named)
    return load_input(inputs), settings, inputs


def show(target: str, record: dict[str, Any], output: Path | None) -> None:
    """Print a row per attack, then the measured epsilon and the ledger's."""
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
    print_facts("Privacy", [("epsilon at least", measured), ("epsilon in the ledger", proved)])
    if bound is not None and not isinstance(ledger, str) and bound > ledger:
        # The bound holds with 95% confidence, so correct devices exceed the ledger in at most 5% of audits.
        print("The measured epsilon exceeds the ledger's.", end=" ")
        print("With correct devices this happens by chance in at most one of twenty audits.")
        print("Audit the graph with other values of --seed; if it stays above, the devices are faulty.")
    if output is not None:
        print(f"Each finding in a sentence: {output}")
