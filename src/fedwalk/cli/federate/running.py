"""`run`: a run of the protocol over the holders."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from fedwalk.cli.federate import folder_argument, need_flower

EPILOG = """\
examples:
  fedwalk federate run fed -o run --protocol ldp --epsilon 6
  fedwalk federate run fed -o run --protocol paper --walks 10
  fedwalk federate run fed -o run --protocol ldp --epsilon 6 --resume     after the server was stopped

A holder that is gone, or sends what the protocol doesn't allow, is left out; walks lost with it are asked for again
from the others. run.json's `federation` has who, when and why, and the exact losses.
"""
PATIENCE = 120.0


def add_parsers(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Enter the command."""
    from fedwalk.cli.embed import add_settings

    parser = commands.add_parser(
        "run", help="operator: a run over all holders",
        description="Has the running server do a run over its holders and follows it. The results are as those of "
        "`fedwalk embed`.",
        epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    folder_argument(parser, "federation", "folder that `init` made; its server must be running")
    parser.add_argument("-o", "--output", required=True, type=Path, metavar="RUN", help="folder for the results")
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings as TOML; flags override them")
    parser.add_argument(
        "--patience", type=float, default=PATIENCE, metavar="S",
        help=f"seconds to wait for a holder that is silent before going on without it (default {PATIENCE:g})",
    )  # fmt: skip
    parser.add_argument(
        "--need", type=int, default=1, metavar="N",
        help="stop at the roll call if fewer holders answer it, before any vector or list is asked for (default 1)",
    )  # fmt: skip
    held = parser.add_mutually_exclusive_group()
    held.add_argument("--resume", action="store_true", help="go on with a run that was broken off")
    held.add_argument("--force", action="store_true", help="replace the run that RUN holds")
    parser.add_argument("--keep-walks", action="store_true", help="write walks.npy too: places in tree.npz's `nodes`")
    parser.add_argument("--json", action="store_true", help="print run.json instead of tables")
    parser.set_defaults(call=_run)
    add_settings(parser, simulated=False)


def _run(options: argparse.Namespace) -> int:
    need_flower()
    from fedwalk.cli.show import StageBars
    from fedwalk.federation.folders import FederationFolder
    from fedwalk.federation.running import run

    settings = chosen(options)
    folder = FederationFolder(options.federation)
    name = folder.settings().name
    with StageBars(f"{settings.protocol} over {name}") as bars:
        record = run(
            folder, settings, options.output, patience=options.patience, force=options.force, resume=options.resume,
            keep_walks=options.keep_walks, need=options.need, progress=bars,
        )  # fmt: skip
    return show(record, options.output, as_json=options.json)


def chosen(options: argparse.Namespace) -> Any:
    """Defaults, overridden by --config, by --preset, by flags."""
    from fedwalk.cli.embed import flags_over
    from fedwalk.settings import read_toml

    config = read_toml(options.config) if options.config else {}
    config.pop("input", None)
    return flags_over(options, config)


def show(record: dict[str, Any], output: Path, *, as_json: bool) -> int:
    """The run as a person or a program wants it."""
    from fedwalk.cli.show import print_facts, print_ledger, print_messages, run_facts

    if as_json:
        print(json.dumps(record, indent=2, ensure_ascii=False))
        return 0
    print_facts(str(output), [*run_facts(record), *federation_facts(record)])
    print_messages(record)
    print_ledger(record)
    print(f"Results: {output}/embedding.npz; the whole record: {output}/run.json")
    account, vertices = record["federation"], record["graph"]["vertices"]
    if account["lost"]:
        lost = f"{len(account['lost'])} of {len(account['holders'])} holders were lost"
        print(f"fedwalk: note: {lost}; {account['embedded']:,} of {vertices:,} devices are embedded.", file=sys.stderr)
    return 0


def federation_facts(record: dict[str, Any]) -> list[tuple[str, str]]:
    """Holders, losses, refusals and the wire, as far as there is something to say."""
    account = record["federation"]
    walks, wire = account["walks"], account["wire"]
    facts = [("holders", f"{len(account['holders']) - len(account['lost'])} of {len(account['holders'])} to the end")]
    if account["simulated"]:
        facts.append(("simulated", f"{', '.join(account['simulated'])}: noise from a seed, which protects nothing"))
    facts.append(("embedded", f"{account['embedded']:,} devices"))
    facts += [("lost", f"{holder}: {reason}") for holder, reason in account["lost"].items()]
    if walks["asked"]:
        again = f", {walks['reissued']:,} of them asked for again" if walks["reissued"] else ""
        facts.append(("finished", f"{walks['finished']:,} of {walks['asked']:,} walks{again}; {walks['lost']:,} lost"))
        facts += [("", f"{n:,} {reason}") for reason, n in walks["reasons"].items()]
        rate = wire["bytes"] / max(1, walks["finished"])
        hops = record["messages"]["hops"]["count"] / max(wire["seconds"], 1e-9)
        facts.append(("hops", f"{hops:,.0f} a second; {wire['batches']:,} batches, {rate:,.0f} bytes a walk"))
    for holder, times in account["interrupted"].items():
        facts.append(("interrupted", f"{holder}, {times} times: it came back, and its walks were asked for again"))
    for holder, times in account["unreachable"].items():
        if holder not in account["lost"]:
            facts.append(("unreachable", f"{holder}, for {times} others: is its port open, its address right?"))
    counts = [*account["refused_by_holders"].items(), *account["refused_at_the_door"].items()]
    refused = ", ".join(f"{n:,} {reason}" for reason, n in counts)
    return [*facts, ("refused", refused)] if refused else facts
