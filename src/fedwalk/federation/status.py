"""What a federation or a holder is doing, read from its folder and, for who is online, from its server."""

import hashlib
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from fedwalk.errors import InputError
from fedwalk.federation.flower import FlowerError, flwr
from fedwalk.federation.folders import FederationFolder, HolderFolder
from fedwalk.federation.holder import Terms
from fedwalk.federation.identity import authority_fingerprint, certificate_end
from fedwalk.federation.installing import finish_install
from fedwalk.federation.job import EVENTS
from fedwalk.federation.passes import read_pass, waiting_keys
from fedwalk.federation.processes import is_alive
from fedwalk.federation.roster import Holder, Roster
from fedwalk.federation.service import is_running, state_of
from fedwalk.federation.succession import former_end, is_by_former


def is_federation(path: Path) -> bool:
    """Whether the folder is an operator's; InputError if it is neither an operator's nor a holder's."""
    return state_of(path) == FederationFolder(path).state


def federation_status(path: Path) -> dict[str, Any]:
    """The server and all holders, for JSON."""
    folder = FederationFolder(path)
    finish_install(folder.path)
    roster, own = Roster.load(folder.roster), folder.credentials()
    running = is_running(folder.state)
    states = _states(folder) if running else "the server isn't running"
    problem = states if running and isinstance(states, str) else None
    return {
        "address": folder.settings().address,
        "running": running,
        "problem": problem,
        "certificate_end": certificate_end(own.certificate).isoformat(),
        "authority": _authority(own.authority),
        "vertices": len(roster.names),
        "run": _under_way(folder),
        "holders": [
            {
                "name": holder.name, "devices": len(holder.devices), "address": holder.address,
                "state": _state(holder, states), **_pass_facts(folder, holder, own.authority),
            }
            for holder in roster.holders
        ],
    }  # fmt: skip


def _under_way(folder: FederationFolder) -> dict[str, Any] | None:
    """The run that is going on: where its results go, and how far its stage is."""
    for job in folder.path.glob("job-*.json"):
        with suppress(OSError, ValueError, LookupError):
            output = Path(json.loads(job.read_text(encoding="utf-8"))["output"])
            lines = (output / EVENTS).read_text(encoding="utf-8").splitlines()
            events = [json.loads(line) for line in lines]
            if is_alive(events[0]["pid"]):
                last: dict[str, Any] = next((event for event in reversed(events) if "stage" in event), {})
                return {"output": str(output), **last}
    return None


def holder_status(path: Path) -> dict[str, Any]:
    """One holder, for JSON."""
    folder = HolderFolder(path)
    settings = folder.settings()
    finish_install(path)
    try:
        end: str | None = certificate_end(folder.credentials().certificate).isoformat()
    except InputError:
        end = None
    return {
        "name": settings.name,
        "address": settings.address,
        "running": is_running(folder.state),
        "terms": terms_text(settings.terms),
        "released": _released(folder),
        "certificate_end": end,
        "new_keys": bool(waiting_keys(folder)),
        "numbering": _numbering(folder),
        "walking": _walking(folder),
    }


def _walking(folder: HolderFolder) -> Any:
    try:
        return json.loads(folder.progress.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


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
    states = json.loads(lists.read_text(encoding="utf-8"))["devices"].values()
    totals = [state["ledger"]["per_edge"] for state in states]
    if any(isinstance(total, str) for total in totals):
        return "without a bound: protocol paper"
    return f"epsilon {max(totals):g} per edge, over all runs" if totals and max(totals) else "nothing yet"


def _numbering(folder: HolderFolder) -> str | None:
    """A fingerprint of which vertex has which id, as the server told it: all holders should see the same."""
    names = folder.memory / "names.json"
    if not names.exists():
        return None
    content = names.read_bytes()
    digits = hashlib.sha256(content).hexdigest()
    groups = " ".join(digits[i : i + 4] for i in range(0, 32, 4))
    return f"{groups} ({len(json.loads(content)):,} vertices)"


def _states(folder: FederationFolder) -> dict[str, str] | str:
    """Flower's word for each registered holder, or why Flower can't be asked."""
    try:
        listed: Any = flwr(folder, "supernode", "list")["nodes"]
        words = {str(node["node-id"]): str(node["status"]) for node in listed}
        nodes = json.loads(folder.nodes.read_text(encoding="utf-8"))
        return {name: words[str(node)] for name, node in nodes.items() if str(node) in words}
    except (FlowerError, OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        return f"can't ask Flower who is online: {error}"


def _state(holder: Holder, states: dict[str, str] | str) -> str:
    if holder.removed:
        return "removed"
    return f"unknown: {states}" if isinstance(states, str) else states.get(holder.name, "not registered")


def _pass_facts(folder: FederationFolder, holder: Holder, authority: bytes) -> dict[str, Any]:
    """When the certificate in the holder's newest pass ends, and whether it is by a former authority.

    As far as the operator's folder tells: whether the holder has taken that pass isn't known here.
    """
    try:
        certificate = read_pass(folder.passport(holder.name)).certificate.encode()
    except InputError:
        return {"certificate_end": None, "former_authority": None}
    end, former = certificate_end(certificate), is_by_former(certificate, authority)
    return {"certificate_end": end.isoformat(), "former_authority": former}


def _authority(pem: bytes) -> dict[str, Any]:
    """The authority that issues certificates, and until when a former one is trusted."""
    until = former_end(pem)
    return {
        "fingerprint": authority_fingerprint(pem),
        "end": certificate_end(pem).isoformat(),
        "former_until": until.isoformat() if until else None,
    }
