"""`run`: run a protocol over the holders of a federation."""

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from fedwalk.cli.arguments import Commands
from fedwalk.cli.federate import add_command, folder_argument, json_argument, patience_argument, print_json
from fedwalk.util.text import counted

if TYPE_CHECKING:
    from fedwalk.federation.server.statistics import FederationFacts
    from fedwalk.run.record import RunRecord
    from fedwalk.settings import Settings

EPILOG = """\
examples:
  fedwalk federate run fed -o run --epsilon 6
  fedwalk federate run fed -o run --protocol paper --num-walks 10
  fedwalk federate run fed -o run --epsilon 6 --resume     after the server was stopped

A holder that doesn't answer, or sends what the protocol doesn't allow, is left out. Walks that were lost with it are
reissued to the others. `federation` in run.json says which holders were left out, when and why, and has the exact
losses.
"""
PATIENCE = 120.0
"""Seconds: several heartbeats of Flower's, so that a restarted holder is still waited for."""


def add_parsers(commands: Commands) -> None:
    """Add the command."""
    from fedwalk.cli.embed import add_settings

    parser = add_command(
        commands, "run", _run,
        summary="operator: a run over all holders",
        description="Starts a run on the running server and follows it. It writes the same files as `fedwalk embed`.",
        epilog=EPILOG,
    )  # fmt: skip
    folder_argument(parser, "federation", "folder that `init` made; its server must be running")
    parser.add_argument("-o", "--output", required=True, type=Path, metavar="RUN", help="folder for the results")
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings as TOML; flags override them")
    patience_argument(parser, PATIENCE)
    parser.add_argument(
        "--min-holders", type=int, default=1, metavar="N",
        help="stop at the roll call if fewer holders answer it, before any vector or report is asked for (default 1)",
    )  # fmt: skip
    held = parser.add_mutually_exclusive_group()
    held.add_argument("--resume", action="store_true", help="continue a run that was interrupted")
    held.add_argument("--force", action="store_true", help="replace the run that RUN holds")
    parser.add_argument(
        "--keep-walks", action="store_true", help="also write walks.npy: indices into `nodes` of tree.npz"
    )
    json_argument(parser, "print run.json instead of tables")
    parser.add_later(partial(add_settings, simulated=False))


def _run(options: argparse.Namespace) -> int:
    from fedwalk.cli.show import StageBars, resumed_text
    from fedwalk.federation.deploy.follow_run import run
    from fedwalk.federation.membership.folders import FederationFolder

    settings = chosen_settings(options)
    folder = FederationFolder(options.federation)
    name = folder.settings().name
    with StageBars(f"{settings.protocol} over {name}") as bars:
        record = run(
            folder, settings, options.output, patience=options.patience, force=options.force, resume=options.resume,
            keep_walks=options.keep_walks, min_holders=options.min_holders, on_progress=bars,
        )  # fmt: skip
    if options.resume and not options.json:
        print(f"{resumed_text(record, bars.computed)}\n")
    return show(record, options.output, as_json=options.json)


def chosen_settings(options: argparse.Namespace) -> "Settings":
    """The settings: defaults, overridden by --config, then by --preset, then by flags.

    Unlike a simulation, a federation runs the protocol with proved privacy unless its operator names another.
    """
    from fedwalk.cli.embed import flags_over
    from fedwalk.protocols.registry import FEDERATED_DEFAULT
    from fedwalk.settings import read_toml

    config = read_toml(options.config) if options.config else {}
    # Names the graph's file in a simulation; here each holder has its own.
    config.pop("input", None)
    return flags_over(options, {"protocol": FEDERATED_DEFAULT, **config})


def show(record: "RunRecord", output: Path, *, as_json: bool) -> int:
    """Print a run's record as tables, or as JSON."""
    from fedwalk.cli.show import print_facts, print_ledger, print_messages, run_facts
    from fedwalk.federation.server.statistics import FederationFacts
    from fedwalk.run.folder import RECORD_FILE

    if as_json:
        return print_json(record.as_dict())
    # Every federated run has this part; `run` refuses to resume any other.
    assert record.federation is not None
    federation = FederationFacts.from_dict(record.federation, str(output / RECORD_FILE))
    num_hops = record.walks.count * (record.walks.hops_per_walk or 0.0)
    print_facts(str(output), [*run_facts(record), *federation_facts(federation, num_hops)])
    print_messages(record)
    print_ledger(record)
    print(f"Results: {output}/embedding.npz; the whole record: {output}/run.json")
    statistics = federation.statistics
    if statistics.lost:
        lost = counted(len(statistics.holders), "holder", "holders")
        embedded = counted(record.graph.vertices, "device", "devices")
        print(
            f"fedwalk: note: {len(statistics.lost)} of {lost} lost; {federation.embedded:,} of {embedded} embedded.",
            file=sys.stderr,
        )
    return 0


def federation_facts(federation: "FederationFacts", num_hops: float) -> list[tuple[str, str]]:
    """Holders, losses, refusals and traffic of a federated run; lines without content are left out."""
    statistics = federation.statistics
    walks, wire, num_holders = statistics.walks, statistics.wire, len(statistics.holders)
    facts = [("holders", f"{num_holders - len(statistics.lost)} of {num_holders} completed the run")]
    if statistics.simulated:
        facts.append(("simulated", f"{', '.join(statistics.simulated)}: noise from a seed, which protects nothing"))
    facts.append(("embedded", counted(federation.embedded, "device", "devices")))
    facts += [("lost", f"{holder}: {reason}") for holder, reason in statistics.lost.items()]
    if walks.asked:
        asked = counted(walks.asked, "walk", "walks")
        # A walk counts each time it is reissued, whether or not it finished in the end.
        again = f"; {counted(walks.reissued, 'reissue', 'reissues')}" if walks.reissued else ""
        facts.append(("finished", f"{walks.finished:,} of {asked}, {walks.lost:,} lost{again}"))
        facts += [("", f"{n:,} {reason}") for reason, n in walks.reasons.items()]
        rate = wire.bytes / max(1, walks.finished)
        hops = num_hops / max(wire.seconds, 1e-9)
        batches = counted(wire.batches, "batch", "batches")
        facts.append(("hops", f"{hops:,.0f} a second; {batches}, {counted(round(rate), 'byte', 'bytes')} a walk"))
    for holder, times in statistics.interrupted.items():
        facts.append(
            ("interrupted", f"{holder}, {counted(times, 'time', 'times')}: it returned, and its walks were reissued")
        )
    for holder, times in statistics.unreachable.items():
        if holder not in statistics.lost:
            others = counted(times, "other holder", "other holders")
            facts.append(("unreachable", f"{holder}, for {others}: check its port and its address"))
    counts = [*statistics.refused_by_holders.items(), *statistics.refused_by_server.items()]
    refused = ", ".join(f"{n:,} {reason}" for reason, n in counts)
    return [*facts, ("refused", refused)] if refused else facts
