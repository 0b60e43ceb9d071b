"""A federated run into a run folder: what the server does once a run is started, and once more when it is resumed."""

import json
import secrets
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from fedwalk import __version__
from fedwalk.errors import InputError, SettingsError
from fedwalk.federation.account import Account
from fedwalk.federation.coordinator import Coordinator, Post
from fedwalk.federation.flow import Embedded, run_ldp, run_paper
from fedwalk.federation.roster import Roster
from fedwalk.federation.shared_files import read_refusals
from fedwalk.graph.names import is_integer
from fedwalk.job import PRIVACY, SIMULATED, expected
from fedwalk.privacy.accounts import list_release, paper_releases
from fedwalk.privacy.ledger import Ledger
from fedwalk.privacy.mechanisms import RandomisedResponse
from fedwalk.protocol.walk import Walks
from fedwalk.run_folder import PROGRESS, RunFolder, open_run_folder, write_arrays, write_text
from fedwalk.settings import Settings
from fedwalk.stages import Progress, Stages, peak_rss_bytes

EVENTS = "progress.jsonl"
"""What the server says while it goes on, beside the results."""
ORIGIN = "# A federation: the holders drew their noise on their own machines.\n"


def federate_to_folder(
    post: Post,
    roster: Roster,
    settings: Settings,
    path: Path,
    *,
    patience: float,
    resume: bool = False,
    keep_walks: bool = False,
    door: Path | None = None,
    need: int = 1,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Run the protocol over the holders, keep every finished phase, write the results; returns `run.json`'s content.

    `door` is the file in which the server's port counts what it refused; `need` holders must answer the roll call.
    """
    began = time.perf_counter()
    check_settings(settings)
    broken_off = open_run_folder(path, force=False, resume=resume)
    folder = RunFolder(path, roster.digest())
    notes = path / PROGRESS / "federation.json"
    if broken_off:
        folder.check_resumable(settings)
    else:
        folder.begin(settings, origin=ORIGIN)
    known = broken_off and notes.exists()
    account = Account.load(notes) if known else Account(secrets.token_hex(16), patience=patience)
    account.save(notes)
    stages = Stages(store=_Noting(folder, account, notes), progress=progress)
    before = sum(stages.seconds().values())
    coordinator = Coordinator(post, roster, account, stages.transcript, need)
    if settings.protocol == "ldp":
        embedded = run_ldp(coordinator, settings, stages)
    else:
        embedded = run_paper(coordinator, settings, stages)
    _write_embedding(path, roster, embedded, "simulated federation" if account.simulated else "federation")
    _write_tree(path, roster, stages)
    if keep_walks and stages.has("walks"):
        write_arrays(path / "walks.npy", stages.get("walks").sequences)
    account.refused_at_the_door = _refused_at_the_door(door)
    seconds = {**stages.seconds(), "total": before + time.perf_counter() - began}
    record = describe(roster, settings, embedded, stages, account, seconds)
    write_text(path / "run.json", json.dumps(record, indent=2, ensure_ascii=False) + "\n")
    folder.drop_progress()
    return record


def _refused_at_the_door(notes: Path | None) -> Counter[str]:
    """What the server's port refused. The run is done: counts that can't be read are no reason to lose it."""
    try:
        return Counter(read_refusals(notes) if notes else {})
    except InputError as error:
        return Counter({f"unreadable file ({error})": 1})


def check_settings(settings: Settings) -> None:
    """Refuse what only a simulation can do."""
    if settings.protocol not in ("paper", "ldp"):
        raise SettingsError(f"protocol = {settings.protocol}: a federation runs paper or ldp; nobody holds the graph.")
    if settings.runtime != "local":
        raise SettingsError(f"runtime = {settings.runtime}: is for simulations; here Flower carries the messages.")
    if settings.budget is not None:
        raise SettingsError("budget: in a federation each holder has its own; its owner writes it into holder.toml.")


class _Noting:
    """The run folder as a store that also writes the account down with every finished stage."""

    def __init__(self, folder: RunFolder, account: Account, notes: Path) -> None:
        self.finished, self.has, self.load = folder.finished, folder.has, folder.load
        self._save: Callable[..., None] = folder.save
        self._account, self._notes = account, notes

    def save(self, stage: str, value: Any, account: Any) -> None:
        """Account first: a stage that is listed as finished must not outlive what is known of its losses."""
        self._account.save(self._notes)
        self._save(stage, value, account)


def _write_embedding(path: Path, roster: Roster, embedded: Embedded, origin: str) -> None:
    nodes = _names(roster)[embedded.devices]
    arrays = {"nodes": nodes, "vectors": embedded.vectors, "origin": np.array(origin)}
    write_arrays(path / "embedding.npz", arrays)


def _write_tree(path: Path, roster: Roster, stages: Stages) -> None:
    """The tree with its leaves' names, if the protocol has one."""
    if stages.has("tree"):
        roll = stages.get("roll")[np.isfinite(stages.get("vectors")[:, 0])]
        leaves = _names(roster)[roll[stages.get("matrices").lengths > 0]]
        write_arrays(path / "tree.npz", {"linkage": stages.get("tree").linkage, "nodes": leaves})


def _names(roster: Roster) -> Any:
    """The vertices' names as an embedding has them: integers if all of them are."""
    names = list(roster.names)
    return np.array([int(name) for name in names]) if all(map(is_integer, names)) else np.array(names, str)


def describe(
    roster: Roster, settings: Settings, embedded: Embedded, stages: Stages, account: Account, seconds: dict[str, float]
) -> dict[str, Any]:
    """The record of a run, as `run.json` holds it; what only a party that sees the graph could know is null."""
    paper = settings.protocol == "paper"
    walks = stages.values.get("walks") or Walks(np.empty((0, settings.walk_length), np.int32), 0)
    settings = settings.resolve(stages.get("roll").size if paper else embedded.devices.size)
    return {
        "fedwalk": __version__,
        "protocol": settings.protocol,
        "simulation": bool(account.simulated),
        "input": {},
        "graph": {
            "vertices": len(roster.names), "edges": None, "isolated": None, "fingerprint": roster.digest(), "notes": [],
        },
        "settings": {name: value for name, value in asdict(settings).items() if name != "runtime"},
        "seconds": seconds,
        "peak_rss_bytes": peak_rss_bytes(),
        "peak_rss_by_stage": stages.peaks(),
        "messages": stages.total().as_dict(),
        "walks": {
            "count": len(walks.sequences),
            "length": settings.walk_length,
            "hops_per_walk": walks.hops_per_walk,
            "expected_hops_per_walk": expected(settings) if paper else 0.0,
        },
        "nominal_epsilon": settings.epsilon if paper else None,
        "privacy": _privacy(settings, account),
        "ledger": _ledger(settings, account).as_dict(),
        "federation": {"embedded": int(embedded.devices.size), **account.as_dict()},
    }  # fmt: skip


def _privacy(settings: Settings, account: Account) -> str:
    """What may be said of the run; a word on simulation only where somebody simulated."""
    text = PRIVACY[settings.protocol].format(epsilon=settings.epsilon)
    return text + SIMULATED.get(settings.protocol, "") if account.simulated else text


def _ledger(settings: Settings, account: Account) -> Ledger:
    """What this run released, as far as the server can tell; each holder's own ledger adds up over runs."""
    ledger = Ledger()
    if settings.protocol == "ldp":
        ledger.spend(f"ldp {account.run} lists", list_release(RandomisedResponse.of(settings.epsilon)))
    else:
        for phase, release in paper_releases(settings.epsilon, settings.walks, settings.walk_length):
            ledger.spend(f"paper {account.run} {phase}", release)
    return ledger
