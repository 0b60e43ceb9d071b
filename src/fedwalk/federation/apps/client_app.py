"""The Flower client app of a holder: a new process for every question, which sends one answer and exits.

The holder's name, its owner's terms and the path of its neighbour lists are read from its own folder; the server can
change none of them. The server is told why a question is refused, but not why anything else fails: another error might
quote a neighbour list.
"""

import json
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import Context, Message, RecordDict
from flwr.clientapp import ClientApp

from fedwalk.errors import BudgetError, ProtocolError, RunFolderError
from fedwalk.federation.holder.answer_store import AnswerStore, question_key
from fedwalk.federation.holder.answers import (
    answer_matrices,
    answer_reports,
    answer_roll,
    answer_vectors,
    record_unbounded,
    vertex_names,
)
from fedwalk.federation.holder.neighbour_file import read_neighbours
from fedwalk.federation.holder.neighbour_lists import KnownNeighbours, resolve
from fedwalk.federation.holder.terms import check_budget, check_terms, protocol_of
from fedwalk.federation.membership.folders import HolderFolder, HolderSettings
from fedwalk.federation.membership.member_lookup import look_up_members
from fedwalk.federation.membership.passes import read_pass
from fedwalk.federation.owner_log import log_for_owner
from fedwalk.federation.wire.flower_records import REFUSAL, fields_to_records, from_records
from fedwalk.federation.wire.questions import (
    PHASES,
    Fields,
    MatricesQuestion,
    ReportsQuestion,
    RollQuestion,
    VectorsQuestion,
    WalksAnswer,
    WalksQuestion,
    pack,
)
from fedwalk.privacy.randomness import Randomness, SimulatedRandomness, SystemRandomness
from fedwalk.protocols.registry import federated_protocols
from fedwalk.util.files import write_private
from fedwalk.util.text import counted

LOCK_TIMEOUT = 86400.0
"""Seconds to wait for an earlier process of this holder. A whole day, because a walk phase may take hours."""

MAX_ATTEMPTS = 8
"""Walk phases in one run: more than a server needs to reissue lost walks, but few enough that it can't use repeated
attempts to get many more walks than the owner's terms allow."""

app = ClientApp()


def answer(folder: HolderFolder, phase: str, records: RecordDict) -> Fields:
    """Answer a question: with the stored answer, or else with a new one that is stored before it is sent."""
    question = from_records(PHASES[phase].question, records)
    settings = folder.settings()
    check_terms(settings.terms, question)
    # Locked until the answer is stored: a process that is asked the same meanwhile waits, then finds the answer.
    with AnswerStore(folder.answer_store).locked(LOCK_TIMEOUT) as store:
        key = question_key(question)
        fields = store.recall(phase, key)
        if fields is None:
            # A server could hold the roll call for `ldp` and then ask for `paper`. The ledger must show that, too.
            if not isinstance(question, RollQuestion):
                _record_unbounded(protocol_of(question), store, _snapshot(store, question), settings)
            fields = pack(ANSWER_WITH[type(question)](folder, settings, store, question))
            store.keep(phase, key, fields)
    return fields


def randomness(settings: HolderSettings) -> Randomness:
    """The operating system's randomness, unless the owner has set a seed to simulate."""
    return SystemRandomness() if settings.simulation_seed is None else SimulatedRandomness(settings.simulation_seed)


def _roll(folder: HolderFolder, settings: HolderSettings, store: AnswerStore, question: RollQuestion) -> Any:
    """Translate the neighbour lists to the federation's ids, and store them for the later phases of the run."""
    names = vertex_names(question)
    # Before the neighbour lists are translated: with other ids, devices would be given each other's ledgers.
    store.pin_names(names)
    neighbours = resolve(read_neighbours(folder.path / settings.neighbours), names)
    if neighbours.unknown or neighbours.absent:
        num_unknown = counted(neighbours.unknown, "neighbour", "neighbours")
        num_absent = counted(neighbours.absent, "device", "devices")
        log_for_owner(
            f"left out, because they aren't in the federation: {num_unknown} and {num_absent} of the neighbour lists"
        )
    neighbours = store.keep_snapshot(question.run, neighbours)
    # For an unbounded protocol the answer itself is a release: it reveals which devices have a neighbour.
    _record_unbounded(question.protocol, store, neighbours, settings)
    if (report_plan := federated_protocols()[question.protocol].report_plan) is not None:
        devices = store.report_devices(neighbours, randomness(settings), settings.terms.budget)
        check_budget(report_plan(len(names), question.epsilon), devices)
    return answer_roll(question, neighbours, settings.name, settings.simulation_seed is not None)


def _record_unbounded(protocol: str, store: AnswerStore, neighbours: KnownNeighbours, settings: HolderSettings) -> None:
    """If the protocol's releases have no privacy bound, record that in the ledgers before one is made."""
    if federated_protocols()[protocol].unbounded:
        # No budget: the entry would exceed any, and `check_terms` refuses these protocols to owners with a budget.
        devices = store.report_devices(neighbours, randomness(settings), None)
        if record_unbounded(protocol, devices):
            store.keep_devices(devices)


def _reports(folder: HolderFolder, settings: HolderSettings, store: AnswerStore, question: ReportsQuestion) -> Any:
    neighbours = _snapshot(store, question)
    devices = store.report_devices(neighbours, randomness(settings), settings.terms.budget)
    reports = answer_reports(question, neighbours, devices)
    # Before the answer is stored: if the process ends in between, the devices repeat these reports at no cost.
    store.keep_devices(devices)
    return reports


def _vectors(folder: HolderFolder, settings: HolderSettings, store: AnswerStore, question: VectorsQuestion) -> Any:
    return answer_vectors(question, _snapshot(store, question), randomness(settings))


def _matrices(folder: HolderFolder, settings: HolderSettings, store: AnswerStore, question: MatricesQuestion) -> Any:
    return answer_matrices(question, _snapshot(store, question))


def _walks(folder: HolderFolder, settings: HolderSettings, store: AnswerStore, question: WalksQuestion) -> WalksAnswer:
    """Walk with the other holders until the attempt has ended.

    Each attempt is walked at most once. If an earlier process of this holder began the attempt and then ended, its
    tokens are lost and the other holders may have finished. This process then answers that the attempt was interrupted,
    and the server reissues the missing walks in a new attempt.
    """
    # Imported here because only walks need these modules, and every question starts a new process.
    from fedwalk.federation.walking.engine import WalkEngine
    from fedwalk.federation.walking.session import walk_together

    neighbours = _snapshot(store, question).restrict(question.participants)
    if settings.name not in question.holders:
        raise ProtocolError(f"WalksQuestion.holders: this holder, {settings.name}, isn't among them.")
    if store.answered(question.phase, question.run) >= MAX_ATTEMPTS:
        raise ProtocolError(f"WalksQuestion: this holder has walked {MAX_ATTEMPTS} times in this run; start another.")
    me = question.holders.index(settings.name)
    engine = WalkEngine(question, neighbours, me, randomness(settings))
    # After the engine has checked the plan, so that a refused plan doesn't count as an attempt.
    if not store.begin(question.phase, question_key(question)):
        log_for_owner(
            f"{question.phase}: an earlier process of this holder ended during this attempt; waiting for the next one"
        )
        return interrupted(question)
    on_progress = partial(_write_progress, folder, time.time())
    members = partial(look_up_members, folder, read_pass(folder.own_pass).server)
    return walk_together(engine, question, me, folder.credentials(), settings.listen, on_progress, members)


def interrupted(question: WalksQuestion) -> WalksAnswer:
    """The answer to an attempt that an earlier process of this holder began: no walk is left of it."""
    no_walks, no_ids = np.empty(0, np.int64), np.empty(0, np.int32)
    return WalksAnswer(
        hops=0, carried=0, batches=0, sent_bytes=0, seconds=0.0, interrupted=True, refused="{}", unreachable=[],
        given_up=no_walks, given_up_reasons=no_ids, given_up_at=no_ids, walks=no_walks,
        entries=np.empty((0, question.length), np.int32),
    )  # fmt: skip


def _write_progress(folder: HolderFolder, began: float, counts: dict[str, Any]) -> None:
    """Write the counts to the file that `fedwalk federate status` reads. If that fails, the walks go on."""
    with suppress(RunFolderError):
        write_private(folder.progress, json.dumps({"began": began, "now": time.time(), **counts}))


def _snapshot(store: AnswerStore, question: Any) -> KnownNeighbours:
    neighbours = store.snapshot(question.run)
    if neighbours is None:
        raise ProtocolError("this holder has had no roll call for this run. The roll call must come first.")
    return neighbours


ANSWER_WITH: dict[type[Any], Callable[..., Any]] = {
    RollQuestion: _roll, ReportsQuestion: _reports, VectorsQuestion: _vectors, MatricesQuestion: _matrices,
    WalksQuestion: _walks,
}  # fmt: skip
"""The function that answers each kind of question."""


def handle(phase: str, message: Message, context: Context) -> Message:
    """Answer a message from Flower. Errors become refusals, so that the server is told only what it may know."""
    try:
        # The owner sets `node_config` when the SuperNode starts; the server can't change it.
        folder = HolderFolder(Path(str(context.node_config["folder"])))
        fields = answer(folder, phase, message.content)
        said = "answered"
    except (ProtocolError, BudgetError) as error:
        said = f"refused: {error}"
        fields = {REFUSAL: str(error)}
    except Exception as error:
        said = f"failed (the server isn't told why): {type(error).__name__}: {error}"
        # A closed or full log must not keep the holder from answering.
        with suppress(OSError):
            traceback.print_exc()
        fields = {REFUSAL: "an error in the holder; its own log has the details"}
    log_for_owner(f"{phase}: {said}")
    return Message(content=fields_to_records(fields), reply_to=message)


# Flower passes a message of type "query.roll" to the function that is registered as "roll".
for _phase in PHASES:
    app.query(_phase)(partial(handle, _phase))
