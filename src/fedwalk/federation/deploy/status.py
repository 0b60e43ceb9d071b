"""The status of a federation or a holder, read from its folder; the server is asked which holders are online."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fedwalk.errors import FedWalkError, InputError
from fedwalk.federation.deploy.flower_commands import FlowerError, flwr
from fedwalk.federation.deploy.processes import is_alive
from fedwalk.federation.deploy.services import is_running, state_file
from fedwalk.federation.holder.answer_store import DEVICES, NAMES, read_names, read_states
from fedwalk.federation.holder.terms import Terms
from fedwalk.federation.membership.authority_succession import former_end, is_by_former
from fedwalk.federation.membership.folders import FederationFolder, HolderFolder
from fedwalk.federation.membership.keys import authority_fingerprint, certificate_end, fingerprint_text
from fedwalk.federation.membership.passes import read_pass, waiting_keys
from fedwalk.federation.membership.roster import Holder, Roster
from fedwalk.federation.server.execute import EVENTS
from fedwalk.federation.shared_files import read_events, read_nodes, read_progress, read_run_request
from fedwalk.privacy.ledger import Ledger
from fedwalk.util.install_files import finish_install
from fedwalk.util.text import counted

UNREADABLE = "can't be read: "
"""The beginning of a value whose file is damaged."""
NOT_RUNNING = "the server isn't running"


def is_federation(path: Path) -> bool:
    """Whether the folder is an operator's; InputError if it is neither an operator's nor a holder's."""
    return state_file(path) == FederationFolder(path).state


def federation_status(path: Path) -> dict[str, Any]:
    """The status of the server and all holders, ready for JSON."""
    folder = FederationFolder(path)
    # New certificates may have been left half installed by an interrupt.
    _read_or_explain(lambda: finish_install(folder.path))
    running = is_running(folder.state)
    states = _states(folder, running)
    roster = _read_or_explain(lambda: Roster.load(folder.roster))
    return {
        "address": _read_or_explain(lambda: folder.settings().address),
        "running": running,
        "problem": states if isinstance(states, str) and states != NOT_RUNNING else None,
        "certificate_end": _read_or_explain(lambda: certificate_end(folder.credentials().certificate).isoformat()),
        "authority": _read_or_explain(lambda: _authority(folder.credentials().authority)),
        "vertices": len(roster.names) if isinstance(roster, Roster) else roster,
        "run": _read_or_explain(lambda: _current_run(folder)),
        "holders": [_member(folder, one, states) for one in roster.holders] if isinstance(roster, Roster) else [],
    }


def is_unreadable(value: Any) -> bool:
    """Whether a value of the status says that it can't be read."""
    return isinstance(value, str) and value.startswith(UNREADABLE)


def _read_or_explain(read: Callable[[], Any]) -> Any:
    """The result of `read`, or a text that says why it failed: one damaged file must not hide the other values."""
    try:
        return read()
    except (FedWalkError, OSError) as error:
        return f"{UNREADABLE}{error}"


def _member(folder: FederationFolder, holder: Holder, states: dict[str, str] | str) -> dict[str, Any]:
    return {
        "name": holder.name, "devices": len(holder.devices), "address": holder.address,
        "state": _state(holder, states), **_pass_facts(folder, holder),
    }  # fmt: skip


def _current_run(folder: FederationFolder) -> dict[str, Any] | None:
    """The run that is going on: the folder of its results, and the progress of its stage; None if there is none."""
    problem: FedWalkError | None = None
    # There may be several: a command that was killed leaves its run request behind.
    for file in folder.path.glob("run-request-*.json"):
        try:
            output = Path(read_run_request(file)["output"])
            events, _ = read_events(output / EVENTS)
        except FedWalkError as error:
            problem = error
            continue
        # The server app writes its process id first. If that process has ended, the run was interrupted.
        if events and is_alive(events[0].get("pid", 0)):
            last: dict[str, Any] = next((event for event in reversed(events) if "stage" in event), {})
            return {"output": str(output), **last}
    # Only if no run was found: a damaged request for an old run must not hide the present run.
    if problem is not None:
        raise problem
    return None


def holder_status(path: Path) -> dict[str, Any]:
    """The status of one holder, ready for JSON."""
    folder = HolderFolder(path)
    _read_or_explain(lambda: finish_install(path))
    return {
        "name": _read_or_explain(lambda: folder.settings().name),
        "address": _read_or_explain(lambda: folder.settings().address),
        "running": is_running(folder.state),
        "terms": _read_or_explain(lambda: terms_text(folder.settings().terms)),
        "released": _read_or_explain(lambda: _released(folder)),
        "certificate_end": _read_or_explain(lambda: _certificate_end(folder)),
        "new_keys": _read_or_explain(lambda: bool(waiting_keys(folder))),
        "numbering": _read_or_explain(lambda: _numbering(folder)),
        "walking": _read_or_explain(lambda: read_progress(folder.progress) if folder.progress.exists() else None),
    }


def _certificate_end(folder: HolderFolder) -> str | None:
    """When the holder's certificate expires; None if it has none yet."""
    if not folder.certificate.exists():
        return None
    return certificate_end(folder.credentials().certificate).isoformat()


def terms_text(terms: Terms) -> str:
    """The protocols and limits that the owner agreed to, as text."""
    limits = [f"at most epsilon {terms.budget:g} per edge over all runs"] if terms.budget is not None else []
    limits += [f"at most {counted(terms.max_walks, 'walk', 'walks')} per device"] if terms.max_walks is not None else []
    return ", ".join([" and ".join(terms.protocols) or "nothing", *limits])


def _released(folder: HolderFolder) -> str:
    """The largest epsilon per edge that any of the holder's devices has released."""
    states_file = folder.answer_store / DEVICES
    if not states_file.exists():
        return "nothing yet"
    ledgers = [Ledger.from_dict(state.get("ledger"), str(states_file)) for state in read_states(states_file).values()]
    # The ledger records a release without a proved bound as infinite.
    for release in (release for ledger in ledgers for release in ledger.releases.values()):
        if math.isinf(release.per_edge):
            return f"without a bound: {release.what}"
    largest = max((ledger.per_edge for ledger in ledgers), default=0.0)
    return f"epsilon {largest:g} per edge, over all runs" if largest else "nothing yet"


def _numbering(folder: HolderFolder) -> str | None:
    """A fingerprint of the vertices' ids as the server told them: all holders should see the same."""
    names = folder.answer_store / NAMES
    if not names.exists():
        return None
    known = read_names(names)
    # The same JSON as in the file, so that equal numberings give equal fingerprints on every machine.
    return f"{fingerprint_text(json.dumps(known).encode())} ({counted(len(known), 'vertex', 'vertices')})"


def _states(folder: FederationFolder, running: bool) -> dict[str, str] | str:
    """Flower's state of each registered holder, or a text that says why it isn't known."""
    nodes = _read_or_explain(lambda: read_nodes(folder.nodes))
    if is_unreadable(nodes):
        return str(nodes)
    if not running:
        return NOT_RUNNING
    try:
        listed: Any = flwr(folder, "supernode", "list")["nodes"]
        flower_states = {str(node["node-id"]): str(node["status"]) for node in listed}
    # Another version of Flower may print other JSON; the rest of the status is still useful.
    except (FlowerError, LookupError, TypeError, AttributeError) as error:
        return f"can't ask Flower which holders are online: {error}"
    return {name: flower_states[str(node)] for name, node in nodes.items() if str(node) in flower_states}


def _state(holder: Holder, states: dict[str, str] | str) -> str:
    if holder.removed:
        return "removed"
    return f"unknown: {states}" if isinstance(states, str) else states.get(holder.name, "not registered")


def _pass_facts(folder: FederationFolder, holder: Holder) -> dict[str, Any]:
    """When the certificate in the holder's newest pass expires, and whether a former authority signed it.

    The operator's folder doesn't tell whether the holder has taken that pass.
    """
    try:
        certificate = read_pass(folder.pass_file(holder.name)).certificate.encode()
        end, former = certificate_end(certificate), is_by_former(certificate, folder.credentials().authority)
    except InputError:
        return {"certificate_end": None, "former_authority": None}
    return {"certificate_end": end.isoformat(), "former_authority": former}


def _authority(pem: bytes) -> dict[str, Any]:
    """The authority that signs certificates, and until when a former one is trusted."""
    until = former_end(pem)
    return {
        "fingerprint": authority_fingerprint(pem),
        "end": certificate_end(pem).isoformat(),
        "former_until": until.isoformat() if until else None,
    }
