"""What a federation or a holder is doing, read from its folder and, for who is online, from its server."""

import hashlib
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fedwalk.errors import FedWalkError
from fedwalk.federation.flower import FlowerError, flwr
from fedwalk.federation.folders import FederationFolder, HolderFolder
from fedwalk.federation.holder import Terms
from fedwalk.federation.identity import certificate_end
from fedwalk.federation.job import EVENTS
from fedwalk.federation.memory import read_names, read_states
from fedwalk.federation.processes import is_alive
from fedwalk.federation.roster import Holder, Roster
from fedwalk.federation.service import is_running, state_of
from fedwalk.federation.shared_files import read_events, read_job, read_nodes, read_progress
from fedwalk.privacy.ledger import Ledger

UNREADABLE = "can't be read: "
"""How a line of the status begins whose file is damaged."""


def is_federation(path: Path) -> bool:
    """Whether the folder is an operator's; InputError if it is nobody's."""
    return state_of(path) == FederationFolder(path).state


def federation_status(path: Path) -> dict[str, Any]:
    """The server and all holders, for JSON."""
    folder = FederationFolder(path)
    running = is_running(folder.state)
    roster = _readable(lambda: Roster.load(folder.roster))
    return {
        "address": _readable(lambda: folder.settings().address),
        "running": running,
        "certificate_end": _readable(lambda: certificate_end(folder.credentials().certificate).isoformat()),
        "vertices": len(roster.names) if isinstance(roster, Roster) else roster,
        "run": _readable(lambda: _under_way(folder)),
        "holders": _members(folder, roster, running) if isinstance(roster, Roster) else [],
    }


def is_unreadable(value: Any) -> bool:
    """Whether a value of the status says that it can't be read."""
    return isinstance(value, str) and value.startswith(UNREADABLE)


def _readable(read: Callable[[], Any]) -> Any:
    """What is read, or a statement in its place: one damaged file must not hide what the others say."""
    try:
        return read()
    except (FedWalkError, OSError) as error:
        return f"{UNREADABLE}{error}"


def _members(folder: FederationFolder, roster: Roster, running: bool) -> list[dict[str, Any]]:
    nodes = _readable(lambda: read_nodes(folder.nodes))
    online = _online(folder) if running else {}

    def state(holder: Holder) -> str:
        if is_unreadable(nodes):
            return "removed" if holder.removed else str(nodes)
        return _state(holder, running, online.get(str(nodes.get(holder.name))))

    return [
        {"name": holder.name, "devices": len(holder.devices), "address": holder.address, "state": state(holder)}
        for holder in roster.holders
    ]


def _under_way(folder: FederationFolder) -> dict[str, Any] | None:
    """The run that is going on: where its results go, and how far its stage is."""
    problem: FedWalkError | None = None
    for job in folder.path.glob("job-*.json"):
        try:
            output = Path(read_job(job)["output"])
            events, _ = read_events(output / EVENTS)
        except FedWalkError as error:
            problem = error
            continue
        if events and is_alive(events[0].get("pid", 0)):
            last: dict[str, Any] = next((event for event in reversed(events) if "stage" in event), {})
            return {"output": str(output), **last}
    if problem is not None:
        raise problem
    return None


def holder_status(path: Path) -> dict[str, Any]:
    """One holder, for JSON."""
    folder = HolderFolder(path)
    return {
        "name": _readable(lambda: folder.settings().name),
        "running": is_running(folder.state),
        "terms": _readable(lambda: terms_text(folder.settings().terms)),
        "released": _readable(lambda: _released(folder)),
        "certificate_end": _readable(lambda: _certificate_end(folder)),
        "numbering": _readable(lambda: _numbering(folder)),
        "walking": _readable(lambda: read_progress(folder.progress) if folder.progress.exists() else None),
    }


def _certificate_end(folder: HolderFolder) -> str | None:
    """When the holder's certificate ends; None before it has one."""
    if not (folder.path / "holder.pem").exists():
        return None
    return certificate_end(folder.credentials().certificate).isoformat()


def terms_text(terms: Terms) -> str:
    """What the owner agreed to, in words."""
    limits = [f"at most epsilon {terms.budget:g} per edge over all runs"] if terms.budget is not None else []
    limits += [f"at most {terms.most_walks} walks per device"] if terms.most_walks is not None else []
    return ", ".join([" and ".join(terms.protocols) or "nothing", *limits])


def _released(folder: HolderFolder) -> str:
    """The most that any of the holder's devices has released, per edge."""
    lists = folder.memory / "lists.json"
    if not lists.exists():
        return "nothing yet"
    ledgers = (Ledger.from_dict(state.get("ledger"), str(lists)) for state in read_states(lists).values())
    most = max((ledger.per_edge for ledger in ledgers), default=0.0)
    if math.isinf(most):
        return "without a bound: protocol paper"
    return f"epsilon {most:g} per edge, over all runs" if most else "nothing yet"


def _numbering(folder: HolderFolder) -> str | None:
    """A fingerprint of which vertex has which id, as the server told it: all holders should see the same."""
    names = folder.memory / "names.json"
    if not names.exists():
        return None
    known = read_names(names)
    # As the store writes them: all holders that have the same names show the same digits.
    digits = hashlib.sha256(json.dumps(known).encode()).hexdigest()
    groups = " ".join(digits[i : i + 4] for i in range(0, 32, 4))
    return f"{groups} ({len(known):,} vertices)"


def _online(folder: FederationFolder) -> dict[str, str]:
    """Flower's word for each node id."""
    try:
        nodes: Any = flwr(folder, "supernode", "list")["nodes"]
    except FlowerError:
        return {}
    return {str(node["node-id"]): str(node["status"]) for node in nodes}


def _state(holder: Holder, running: bool, word: str | None) -> str:
    if holder.removed:
        return "removed"
    return word or ("not registered yet" if running else "unknown: the server isn't running")
