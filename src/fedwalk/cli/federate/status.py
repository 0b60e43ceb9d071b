"""`status`: what a federation or a holder is doing."""

import argparse
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from fedwalk.cli.arguments import Commands
from fedwalk.cli.federate import add_command, either_folder_argument, json_argument, print_json
from fedwalk.util.text import counted


def add_parsers(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands, "status", _status,
        summary="what a federation or a holder is doing",
        description="For a federation: its holders and which of them are online, the progress of a run, and when "
        "certificates expire. For a holder: whether it runs, what its owner agreed to, what it has released, and the "
        "progress of its walks.",
    )  # fmt: skip
    either_folder_argument(parser)
    json_argument(parser, "print JSON instead of tables")


def _status(options: argparse.Namespace) -> int:
    from fedwalk.federation.deploy.status import federation_status, holder_status, is_federation

    if is_federation(options.folder):
        status = federation_status(options.folder)
        return print_json(status) if options.json else _show_federation(options.folder, status)
    status = holder_status(options.folder)
    return print_json(status) if options.json else _show_holder(options.folder, status)


def _show_federation(folder: Path, status: dict[str, Any]) -> int:
    from fedwalk.cli.show import print_facts, print_table
    from fedwalk.federation.deploy.status import is_unreadable

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
    """The authority, and the former one as long as it is trusted or a pass is still signed by it."""
    from fedwalk.federation.deploy.status import is_unreadable

    authority = status["authority"]
    if is_unreadable(authority):
        return [("authority", authority)]
    facts = [("authority", f"{authority['fingerprint']}, {_left(authority['end'])}")]
    behind = [one["name"] for one in status["holders"] if one["former_authority"] and one["state"] != "removed"]
    passes = (
        f"passes signed by it: {', '.join(behind)}; admit these requests again" if behind else "no pass signed by it"
    )
    if until := authority["former_until"]:
        trusted = "trusted, " if datetime.fromisoformat(until) > datetime.now(UTC) else "not trusted any more, "
        facts.append(("old authority", f"{trusted}{_left(until)}; {passes}"))
    elif behind:
        facts.append(("old authority", f"not trusted; {passes}"))
    return facts


def _row(holder: dict[str, Any]) -> list[str]:
    """A row of the table, without the details that don't fit into its narrow columns."""
    state, end = holder["state"].partition(":")[0], holder["certificate_end"]
    address, certificate = holder["address"] or "none: ldp only", _left(end) if end else "no pass file"
    return [holder["name"], f"{holder['devices']:,}", address, state, certificate]


def _show_holder(folder: Path, status: dict[str, Any]) -> int:
    from fedwalk.cli.show import print_facts
    from fedwalk.federation.deploy.status import is_unreadable

    facts = [
        ("holder", f"{status['name']}, {'running' if status['running'] else 'not running'}"),
        ("address", status["address"] or "none: ldp only"),
        ("agrees to", status["terms"]),
        ("released", status["released"]),
        ("certificate", _until(status["certificate_end"])),
        *(
            [("new keys", "come into use with the operator's next pass; until then the old ones are used")]
            if status["new_keys"]
            else []
        ),
        ("numbering", status["numbering"] or "none yet"),
    ]
    if is_unreadable(walking := status["walking"]):
        facts.append(("last walks", walking))
    elif walking:
        # The file stays after a run, so its age tells whether these walks are still going on.
        ago = time.time() - walking["now"]
        walks = f"{counted(walking['begun'], 'walk', 'walks')} started, {walking['finished']:,} finished"
        sent = f"{counted(walking['handed'], 'token', 'tokens')} sent"
        tokens = f"{sent}, {walking['received']:,} received, {walking['refused']:,} refused"
        size = counted(walking["bytes"], "byte", "bytes")
        facts.append(("last walks", f"{walks}; {tokens}; {size} sent; {ago:.0f} s ago"))
    print_facts(str(folder), facts)
    return 0


def _until(end: str | None) -> str:
    """A certificate's validity, with the advice to renew it if it has expired."""
    from fedwalk.federation.deploy.status import is_unreadable

    if end is None:
        return "none yet: the operator's pass is missing"
    if is_unreadable(end):
        return end
    expired = datetime.fromisoformat(end) < datetime.now(UTC)
    return f"{_left(end)}: every other party refuses it; renew it" if expired else _left(end)


def _left(end: str) -> str:
    """How long a certificate is still valid, or when it expired."""
    from fedwalk.federation.membership.validity import span_text

    left = datetime.fromisoformat(end) - datetime.now(UTC)
    return f"expired {span_text(-left)} ago" if left < timedelta() else f"valid for {span_text(left)}"
