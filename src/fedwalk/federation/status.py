"""What a federation or a holder is doing, read from its folder and, for who is online, from its server."""

import hashlib
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fedwalk.errors import FedWalkError, InputError
from fedwalk.federation.flower import FlowerError, flwr
from fedwalk.federation.folders import FederationFolder, HolderFolder
from fedwalk.federation.holder import Terms
from fedwalk.federation.identity import authority_fingerprint, certificate_end
from fedwalk.federation.installing import finish_install
from fedwalk.federation.job import EVENTS
from fedwalk.federation.memory import read_names, read_states
from fedwalk.federation.passes import read_pass, waiting_keys
from fedwalk.federation.processes import is_alive
from fedwalk.federation.roster import Holder, Roster
from fedwalk.federation.service import is_running, state_of
from fedwalk.federation.shared_files import read_events, read_job, read_nodes, read_progress
from fedwalk.federation.succession import former_end, is_by_former
from fedwalk.privacy.ledger import Ledger

UNREADABLE = "can't be read: "
"""How a line of the status begins whose file is damaged."""
NOT_RUNNING = "the server isn't running"


def is_federation(path: Path) -> bool:
    """Whether the folder is an operator's; InputError if it is neither an operator's nor a holder's."""
    return state_of(path) == FederationFolder(path).state


def federation_status(path: Path) -> dict[str, Any]:
    """The server and all holders, for JSON."""
    folder = FederationFolder(path)
    _readable(lambda: finish_install(folder.path))
    running = is_running(folder.state)
    states = _states(folder, running)
    roster = _readable(lambda: Roster.load(folder.roster))
    return {
        "address": _readable(lambda: folder.settings().address),
        "running": running,
        "problem": states if isinstance(states, str) and states != NOT_RUNNING else None,
        "certificate_end": _readable(lambda: certificate_end(folder.credentials().certificate).isoformat()),
        "authority": _readable(lambda: _authority(folder.credentials().authority)),
        "vertices": len(roster.names) if isinstance(roster, Roster) else roster,
        "run": _readable(lambda: _under_way(folder)),
        "holders": [_member(folder, one, states) for one in roster.holders] if isinstance(roster, Roster) else [],
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


def _member(folder: FederationFolder, holder: Holder, states: dict[str, str] | str) -> dict[str, Any]:
    return {
        "name": holder.name, "devices": len(holder.devices), "address": holder.address,
        "state": _state(holder, states), **_pass_facts(folder, holder),
    }  # fmt: skip


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
    _readable(lambda: finish_install(path))
    return {
        "name": _readable(lambda: folder.settings().name),
        "address": _readable(lambda: folder.settings().address),
        "running": is_running(folder.state),
        "terms": _readable(lambda: terms_text(folder.settings().terms)),
        "released": _readable(lambda: _released(folder)),
        "certificate_end": _readable(lambda: _certificate_end(folder)),
        "new_keys": _readable(lambda: bool(waiting_keys(folder))),
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


def _states(folder: FederationFolder, running: bool) -> dict[str, str] | str:
    """Flower's word for each registered holder, or why there is none."""
    nodes = _readable(lambda: read_nodes(folder.nodes))
    if is_unreadable(nodes):
        return str(nodes)
    if not running:
        return NOT_RUNNING
    try:
        listed: Any = flwr(folder, "supernode", "list")["nodes"]
        words = {str(node["node-id"]): str(node["status"]) for node in listed}
    except (FlowerError, LookupError, TypeError, AttributeError) as error:
        return f"can't ask Flower who is online: {error}"
    return {name: words[str(node)] for name, node in nodes.items() if str(node) in words}


def _state(holder: Holder, states: dict[str, str] | str) -> str:
    if holder.removed:
        return "removed"
    return f"unknown: {states}" if isinstance(states, str) else states.get(holder.name, "not registered")


def _pass_facts(folder: FederationFolder, holder: Holder) -> dict[str, Any]:
    """When the certificate in the holder's newest pass ends, and whether it is by a former authority.

    As far as the operator's folder tells: whether the holder has taken that pass isn't known here.
    """
    try:
        certificate = read_pass(folder.passport(holder.name)).certificate.encode()
        end, former = certificate_end(certificate), is_by_former(certificate, folder.credentials().authority)
    except InputError:
        return {"certificate_end": None, "former_authority": None}
    return {"certificate_end": end.isoformat(), "former_authority": former}


def _authority(pem: bytes) -> dict[str, Any]:
    """The authority that issues certificates, and until when a former one is trusted."""
    until = former_end(pem)
    return {
        "fingerprint": authority_fingerprint(pem),
        "end": certificate_end(pem).isoformat(),
        "former_until": until.isoformat() if until else None,
    }
