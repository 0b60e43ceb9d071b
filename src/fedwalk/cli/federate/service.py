"""`server`, `holder`, `status`, `down`: what runs, and how it is stopped."""

import argparse
import json
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from fedwalk.cli.federate import folder_argument, need_flower
from fedwalk.errors import SettingsError
from fedwalk.words import counted


def add_parsers(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Enter the four commands."""
    server = commands.add_parser(
        "server", help="operator: run the server until Ctrl-C",
        description="Runs Flower's SuperLink with TLS and authenticated holders, and registers every admitted holder. "
        "It knows vertex ids, and what holders answer; never a list, never a hop.",
    )  # fmt: skip
    folder_argument(server, "federation", "folder that `init` made")
    server.set_defaults(call=_server)
    holder = commands.add_parser(
        "holder", help="holder: take part until Ctrl-C",
        description="Runs Flower's SuperNode, which answers what its owner has agreed to (holder.toml), and runs no "
        "code that the server sends unless it is fedwalk's own. It may start before the server and waits for it.",
    )  # fmt: skip
    folder_argument(holder, "holder", "folder that `enrol` made")
    holder.add_argument("--pass", dest="passport", type=Path, metavar="FILE", help="the operator's pass, once")
    holder.add_argument(
        "--older-pass", action="store_true", help="take the pass even if it is older than the one this holder has"
    )
    holder.set_defaults(call=_holder)
    status = commands.add_parser(
        "status", help="what a federation or a holder is doing",
        description="For a federation: its holders, who is online, how far a run is, when certificates end. For a "
        "holder: whether it runs, what it has agreed to and released, how far its walks are.",
    )  # fmt: skip
    folder_argument(status, "folder", "of a federation or a holder")
    status.add_argument("--json", action="store_true", help="print JSON")
    status.set_defaults(call=_status)
    down = commands.add_parser(
        "down", help="stop everything that serves a folder",
        description="Ends the server or the holder of this folder and every process that it started, also those whose "
        "starter was killed.",
    )  # fmt: skip
    folder_argument(down, "folder", "of a federation or a holder")
    down.set_defaults(call=_down)


def _server(options: argparse.Namespace) -> int:
    need_flower()
    from fedwalk.federation.folders import FederationFolder
    from fedwalk.federation.roster import Roster
    from fedwalk.federation.service import serving, until_stopped

    folder = FederationFolder(options.federation)
    settings = folder.settings()
    with serving(folder) as started:
        holders = [holder for holder in Roster.load(folder.roster).holders if not holder.removed]
        expected = counted(len(holders), "holder", "holders")
        print(f"The server listens on {settings.listen}; {expected} may connect. Its log: {folder.log}")
        print(f"Next:    fedwalk federate run {folder.path} -o run     Ctrl-C stops the server", flush=True)
        code = until_stopped(started, folder.log)
    return _ended(code, folder.log)


def _holder(options: argparse.Namespace) -> int:
    need_flower()
    from fedwalk.federation.folders import HolderFolder
    from fedwalk.federation.identity import authority_fingerprint
    from fedwalk.federation.notices import Notices
    from fedwalk.federation.passes import take_pass, waiting_keys
    from fedwalk.federation.service import check_stopped, holding, until_stopped

    folder = HolderFolder(options.holder)
    settings = folder.settings()
    if options.older_pass and not options.passport:
        raise SettingsError("--older-pass goes with --pass FILE.")
    if options.passport:
        check_stopped(folder.state)
        waiting = waiting_keys(folder)
        taken = take_pass(folder, options.passport, older=options.older_pass)
        if waiting and not waiting_keys(folder):
            print("The new keys are in use from now on, and the old ones are deleted.")
        print(
            f"The authority's fingerprint, to be compared by phone: {authority_fingerprint(taken.authority.encode())}"
        )
    if waiting_keys(folder):
        print("New keys wait for the operator's pass. Once the operator has admitted them, the old ones are refused.")
    notices = Notices(folder.log)
    with holding(folder) as started:
        hops = f"hops arrive at {settings.listen}" if settings.address else "no address: ldp alone"
        print(f"Holder {settings.name} takes part; {hops}. Its log: {folder.log}")
        print("Ctrl-C stops it.", flush=True)
        code = until_stopped(started, folder.log, lambda: _repeat(notices.new()))
    return _ended(code, folder.log)


def _repeat(lines: list[str]) -> None:
    """Show them; a terminal that is gone is no reason to stop the holder."""
    with suppress(OSError):
        for line in lines:
            print(f"{datetime.now():%H:%M:%S} {line}", flush=True)


def _ended(code: int, log: Path) -> int:
    from fedwalk.federation.service import last_words

    print("Stopped; no process is left." if code == 0 else f"Ended by itself with code {code}: {last_words(log)}")
    return 0 if code == 0 else 2


def _down(options: argparse.Namespace) -> int:
    need_flower()
    from fedwalk.federation.service import down

    ended = down(options.folder)
    count = counted(ended, "process", "processes")
    print(f"Ended {count} of {options.folder}." if ended else f"{options.folder}: nothing was running.")
    return 0


def _status(options: argparse.Namespace) -> int:
    need_flower()
    from fedwalk.federation.status import federation_status, holder_status, is_federation

    if is_federation(options.folder):
        status = federation_status(options.folder)
        return _print_json(status) if options.json else _show_federation(options.folder, status)
    status = holder_status(options.folder)
    return _print_json(status) if options.json else _show_holder(options.folder, status)


def _show_federation(folder: Path, status: dict[str, Any]) -> int:
    from fedwalk.cli.show import print_facts, print_table
    from fedwalk.federation.status import is_unreadable

    state = "running" if status["running"] else "not running"
    facts = [("server", f"{status['address']}, {state}"), ("certificate", _until(status["certificate_end"]))]
    facts += _authority_facts(status)
    vertices, run = status["vertices"], status["run"]
    facts.append(("vertices", str(vertices) if is_unreadable(vertices) else f"{vertices:,}"))
    if status["problem"]:
        facts.append(("holders", status["problem"]))
    if is_unreadable(run):
        facts.append(("run", run))
    elif run:
        stage = f"{run['stage']}, {run['done']:,} of {run['total']:,}" if "stage" in run else "begins"
        facts.append(("run", f"{run['output']}: {stage}"))
    print_facts(str(folder), facts)
    print_table("Holders", ["name", "devices", "address", "state", "certificate"], list(map(_row, status["holders"])))
    return 0


def _authority_facts(status: dict[str, Any]) -> list[tuple[str, str]]:
    """The authority, the one before it while that is trusted, and who still depends on that."""
    from fedwalk.federation.status import is_unreadable

    authority = status["authority"]
    if is_unreadable(authority):
        return [("authority", authority)]
    facts = [("authority", f"{authority['fingerprint']}, {_left(authority['end'])}")]
    behind = [one["name"] for one in status["holders"] if one["former_authority"] and one["state"] != "removed"]
    passes = f"passes by it: {', '.join(behind)}; admit these requests again" if behind else "no pass is by it"
    if until := authority["former_until"]:
        trusted = "trusted, " if datetime.fromisoformat(until) > datetime.now(UTC) else "not trusted any more, "
        facts.append(("old authority", f"{trusted}{_left(until)}; {passes}"))
    elif behind:
        facts.append(("old authority", f"not trusted; {passes}"))
    return facts


def _row(holder: dict[str, Any]) -> list[str]:
    """A holder in the table, whose columns are narrow."""
    state, end = holder["state"].partition(":")[0], holder["certificate_end"]
    address, certificate = holder["address"] or "none: ldp alone", _left(end) if end else "no pass here"
    return [holder["name"], f"{holder['devices']:,}", address, state, certificate]


def _show_holder(folder: Path, status: dict[str, Any]) -> int:
    from fedwalk.cli.show import print_facts
    from fedwalk.federation.status import is_unreadable

    facts = [
        ("holder", f"{status['name']}, {'running' if status['running'] else 'not running'}"),
        ("address", status["address"] or "none: ldp alone"),
        ("agrees to", status["terms"]),
        ("released", status["released"]),
        ("certificate", _until(status["certificate_end"])),
        *([("new keys", "wait for the operator's pass; the old ones are in use")] if status["new_keys"] else []),
        ("numbering", status["numbering"] or "none yet"),
    ]
    if is_unreadable(walking := status["walking"]):
        facts.append(("last walks", walking))
    elif walking:
        ago = time.time() - walking["now"]
        names = ("begun", "finished", "handed", "received", "refused")
        counts = ", ".join(f"{walking[name]:,} {name}" for name in names)
        facts.append(("last walks", f"{counts}, {walking['bytes']:,} bytes sent; {ago:.0f} s ago"))
    print_facts(str(folder), facts)
    return 0


def _until(end: str | None) -> str:
    from fedwalk.federation.status import is_unreadable

    if end is None:
        return "none yet: the operator's pass is missing"
    if is_unreadable(end):
        return end
    return f"{_left(end)}: every other party refuses it; renew it" if _left(end).startswith("ended") else _left(end)


def _left(end: str) -> str:
    """How long a certificate is still good, or since when it has ended."""
    from fedwalk.federation.validity import span_text

    left = datetime.fromisoformat(end) - datetime.now(UTC)
    return f"ended {span_text(-left)} ago" if left < timedelta() else f"good for {span_text(left)}"


def _print_json(value: dict[str, Any]) -> int:
    print(json.dumps(value, indent=2, ensure_ascii=False))
    return 0
