"""`fedwalk embed GRAPH -o RUN`: from a graph file to an embedding."""

import argparse
import time
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

from fedwalk.cli.arguments import (
    COLUMNS,
    Commands,
    add_columns,
    add_command,
    add_config,
    add_format,
    add_json,
    chosen_columns,
    load_input,
)
from fedwalk.errors import SettingsError
from fedwalk.protocols.registry import FEDERATED, FEDERATED_DEFAULT, added_protocols, find_protocol, protocol_names
from fedwalk.settings import CHOICES, PRESETS, Settings, check_read, read_toml

INPUTS = ("graph", "format", *COLUMNS)

EPILOG = """\
examples:
  fedwalk embed graph.edges -o run
  fedwalk embed blogcatalog.mat -o run --predictor triad --predict 1 --burst 2
  fedwalk embed blogcatalog.mat -o run --preset frugal      a quarter of the messages
  fedwalk embed graph.edges -o private --protocol ldp --epsilon 6 --budget 8
  fedwalk embed graph.csv -o baseline --protocol deepwalk
  fedwalk embed --config run/settings.toml -o again        repeat a run
  fedwalk embed graph.edges -o run --resume                after an interrupt

protocols:
  paper      FedWalk as published; its epsilon is nominal, and its privacy loss is unbounded (docs/fidelity.md)
  ldp        epsilon-edge local differential privacy, proved; epsilon is the total per edge, for any number of walks
             (docs/privacy.md). Useful from an epsilon of about ln(n / mean degree), 5 for BlogCatalog, where the server
             then finds 89 % of the edges.
  deepwalk   the baseline: one party holds the whole graph
  Installed packages can add others (docs/extending.md).

RUN will contain embedding.npz (arrays `nodes`, `vectors`), settings.toml, run.json (with the privacy ledger), and for
`paper` tree.npz (a scipy linkage array).
"""


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "embed",
        call,
        summary="embed a graph",
        description="Simulates FedWalk, the provably private protocol ldp or the DeepWalk baseline on a graph, and "
        "writes a run folder. The defaults are the paper's settings. A flag whose help begins with a protocol's name "
        "is only for this protocol, and refused with the others.",
        epilog=EPILOG,
    )
    parser.add_argument(
        "graph", nargs="?", metavar="GRAPH",
        help="graph file or dataset (see `fedwalk data list`); or `graph` under [input] in --config",
    )  # fmt: skip
    parser.add_argument("-o", "--output", required=True, type=Path, metavar="RUN", help="folder for the results")
    add_format(parser)
    add_columns(parser)
    add_config(parser)
    existing = parser.add_mutually_exclusive_group()
    existing.add_argument("--resume", action="store_true", help="continue a run that was interrupted")
    existing.add_argument("--force", action="store_true", help="replace the run that RUN holds")
    parser.add_argument("--keep-walks", action="store_true", help="also write walks.npy, if there are walks")
    parser.add_argument(
        "--ledger", type=Path, metavar="FILE",
        help="ledger of what the same devices released before; this run is added to it (default: a new ledger)",
    )  # fmt: skip
    add_json(parser, "tables")
    parser.add_later(add_settings)


def add_settings(parser: argparse.ArgumentParser, *, simulated: bool = True) -> None:
    """Add a flag for every setting, or for those that a federated run has.

    A federated run has no runtime, each holder sets its own budget, and the seed covers only what the server draws.
    The flags have no defaults, so that `given_flags` can tell which ones were given.
    """
    defaults = {field.name: field.default for field in fields(Settings)}

    def choice(group: Any, name: str, text: str) -> None:
        help_text = f"{text} (default {defaults[name]})"
        group.add_argument(f"--{name}", choices=CHOICES[name], default=None, help=help_text)

    def number(group: Any, name: str, letter: str, text: str, kind: type = int, default: str | None = None) -> None:
        shown = default or f"{defaults[name]:g}"
        group.add_argument(
            f"--{name.replace('_', '-')}", type=kind, metavar=letter, default=None, help=f"{text} (default {shown})"
        )

    protocol = parser.add_argument_group("protocol")
    presets = "; ".join(f"{name}: {_flags(preset)}" for name, preset in PRESETS.items())
    protocol.add_argument("--preset", choices=PRESETS, default=None, help=f"paper: settings together; {presets}")
    protocol.add_argument(
        "--protocol", choices=protocol_names() if simulated else FEDERATED, default=None,
        help="paper: as published, not private; ldp: proved privacy; deepwalk: the baseline "
        f"(default {defaults['protocol']})" if simulated else
        f"what the holders run; paper's privacy loss is unbounded (default {FEDERATED_DEFAULT})",
    )  # fmt: skip
    number(protocol, "epsilon", "E", "ldp: total per edge; paper: of noise and encoder, nominal", float)
    if simulated:
        number(
            protocol,
            "budget",
            "E",
            "largest epsilon per edge that may be released; `embed` also counts what --ledger lists",
            float,
            "none",
        )
    number(protocol, "num_bins", "K", "paper: bins of the group plan", default="⌊ln n⌋")
    choice(protocol, "tree", "paper: builder of the tree; average needs n² memory")
    choice(protocol, "encoder", "paper: identity leaves vertices unencoded")
    walks = parser.add_argument_group("walks")
    number(walks, "walk_length", "L", "entries per walk")
    number(walks, "num_walks", "G", "walks per vertex")
    number(walks, "predict", "P", "paper: probability that a visit triggers the predictor", float)
    choice(walks, "predictor", "paper: tree is as published; degree and triad are new")
    number(walks, "burst", "B", "paper: number of entries that a triggered visit writes")
    skipgram = parser.add_argument_group("embedding")
    skipgram.add_argument(
        "--embed", choices=CHOICES["embed"], default=None,
        help="skipgram on walks, or spectral from the decoded graph (default spectral for ldp, else skipgram)",
    )  # fmt: skip
    number(skipgram, "dim", "D", "dimensions")
    number(skipgram, "window", "W", "largest window")
    number(skipgram, "negative", "N", "negative samples")
    execution = parser.add_argument_group("execution")
    covered = "determines everything up to the walks" if simulated else "seed of what the server draws"
    number(execution, "seed", "S", covered)
    number(execution, "threads", "T", "1 makes the vectors reproducible, too", default="all cores")
    if simulated:
        choice(execution, "runtime", "paper, ldp: stepwise has one device object per vertex, message by message; slow")
        _add_own_settings(parser)


def _add_own_settings(parser: argparse.ArgumentParser) -> None:
    """Add a flag for each setting of the protocols that other packages bring."""
    for protocol in added_protocols():
        group = parser.add_argument_group(f"protocol {protocol.name}", protocol.summary.replace("%", "%%"))
        for setting in protocol.settings:
            # A name that is taken gets no second flag. Two protocols with a setting of the same name share the flag,
            # whose text the chosen one converts; one that is called like a flag of ours can be set by --config.
            with suppress(argparse.ArgumentError):
                group.add_argument(
                    _flag(setting.name), dest=_own(setting.name), default=None, metavar=setting.name[0].upper(),
                    # argparse fills in values at a percent sign.
                    help=f"{setting.help} (default {setting.default})".replace("%", "%%"),
                )  # fmt: skip


def _own(name: str) -> str:
    """Where argparse stores an added protocol's setting, so that it can't be mistaken for one of our options."""
    return f"own_{name}"


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _flags(settings: dict[str, Any]) -> str:
    """Settings written as flags."""
    return " ".join(f"{_flag(name)} {value}" for name, value in settings.items())


def chosen_settings(options: argparse.Namespace) -> tuple[Settings, dict[str, str | None]]:
    """The settings (defaults, overridden by --config, then --preset, then flags), and the graph's file and format."""
    config = read_toml(options.config) if options.config else {}
    inputs = chosen_inputs(options, config.pop("input", {}))
    return flags_over(options, config), inputs


def flags_over(options: argparse.Namespace, config: dict[str, Any], varied: dict[str, Any] | None = None) -> Settings:
    """The settings of a file, overridden by --preset, by flags, and by the values of one trial of a sweep."""
    flags = given_flags(options)
    # Validated only together: a flag may correct a value of the file that would be refused alone.
    preset = PRESETS[options.preset] if options.preset else {}
    chosen = {**config, **preset, **flags, **(varied or {})}
    # The flags of a protocol's own settings are text until it is known which protocol is meant.
    protocol = find_protocol(chosen.get("protocol", Settings().protocol))
    typed = {one.name: one.from_text(flags[one.name]) for one in protocol.settings if one.name in flags}
    # `from_mapping` would refuse these as well, but can't tell which of the sources has the setting.
    for origin, names in ((f"{options.config}", config), (f"--preset {options.preset}", preset)):
        check_read(protocol, names, origin)
    for name in flags:
        check_read(protocol, [name], _flag(name))
    return Settings.from_mapping({**chosen, **typed}, str(options.config or "command line"))


def given_flags(options: argparse.Namespace) -> dict[str, Any]:
    """The settings that were given as flags; those of other packages' protocols as text."""
    own = {setting.name: _own(setting.name) for protocol in added_protocols() for setting in protocol.settings}
    places = {**{name: name for name in Settings.__slots__ if name != "own"}, **own}
    return {name: value for name, place in places.items() if (value := getattr(options, place, None)) is not None}


def chosen_inputs(options: argparse.Namespace, table: Any) -> dict[str, str | None]:
    """GRAPH, --format and the columns, or else those of the config's table [input]."""
    where = f"{options.config}, [input]"
    if not isinstance(table, dict) or not all(isinstance(value, str) for value in table.values()):
        raise SettingsError(f"{where}: must be a table of quoted names: {', '.join(INPUTS)}.")
    if unknown := sorted(table.keys() - set(INPUTS)):
        raise SettingsError(f"{where}: there is no {unknown[0]!r} here, only {', '.join(INPUTS)}.")
    graph = options.graph or table.get("graph")
    if not graph:
        raise SettingsError("no graph: name a graph file, or a --config with `graph` under [input].")
    if any("\ud800" <= letter <= "\udfff" for letter in graph):
        raise SettingsError(f"{graph!a}: isn't UTF-8, and settings.toml can't hold such a name. Rename the graph file.")
    # The config's format is that of the config's graph, which a GRAPH on the command line replaces.
    other = options.graph and "graph" in table and table["graph"] != graph
    kept = {} if other else {name: table[name] for name in COLUMNS if name in table}
    chosen = options.format or (None if other else table.get("format"))
    return {"graph": graph, "format": chosen, **kept, **chosen_columns(options)}


def call(options: argparse.Namespace) -> int:
    """Load the graph, run the protocol, and print the results."""
    settings, inputs = chosen_settings(options)
    from fedwalk.cli.show import (
        StageBars,
        print_facts,
        print_json,
        print_ledger,
        print_messages,
        resumed_text,
        run_facts,
    )
    from fedwalk.run.execute import embed_to_folder
    from fedwalk.run.folder import check_free

    check_free(options.output, force=options.force, resume=options.resume)
    began = time.perf_counter()
    graph = load_input(inputs)
    load_seconds = time.perf_counter() - began
    with StageBars(f"{settings.protocol}: {graph}") as bars:
        record = embed_to_folder(
            graph, settings, options.output, force=options.force, resume=options.resume,
            keep_walks=options.keep_walks, on_progress=bars, load_seconds=load_seconds, inputs=inputs,
            ledger=options.ledger,
        )  # fmt: skip
    if options.json:
        print_json(record.as_dict())
        return 0
    if options.resume:
        print(f"{resumed_text(record, bars.computed)}\n")
    print_facts(f"{options.output}", run_facts(record))
    print_messages(record)
    print_ledger(record)
    print(f"Results: {options.output}/embedding.npz; the whole record: {options.output}/run.json")
    # Standard input is gone: the graph has to come from a file.
    graph_file = "GRAPH" if inputs["graph"] == "-" else inputs["graph"]
    print(f"Next:    fedwalk evaluate {options.output} --graph {graph_file} [--labels FILE]")
    print(f"         fedwalk audit {options.output}   measures what the server and others find out")
    print(f"         fedwalk report {options.output} [--labels FILE]   shows it as one page")
    return 0
