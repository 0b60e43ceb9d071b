"""A holder's part as Flower runs it: a new process for every question, which answers and ends.

The holder's own folder says who it is, what it has agreed to and where its lists are; the server decides none of it.
The server is told why it is refused, and of nothing else that goes wrong: other errors might quote a piece of a list.
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
from fedwalk.federation.folders import HolderFolder, HolderSettings
from fedwalk.federation.holder import (
    PROTOCOL_OF,
    answer_lists,
    answer_matrices,
    answer_roll,
    answer_vectors,
    check_budget,
    check_terms,
    enter_paper,
    vertex_names,
)
from fedwalk.federation.lists import KnownLists, resolve
from fedwalk.federation.lists_file import read_lists
from fedwalk.federation.member_lookup import look_up_members
from fedwalk.federation.memory import Memory, question_key
from fedwalk.federation.notices import say
from fedwalk.federation.parcels import (
    Fields,
    ListsQuestion,
    MatricesQuestion,
    RollQuestion,
    VectorsQuestion,
    WalksAnswer,
    WalksQuestion,
    pack,
)
from fedwalk.federation.passes import read_pass
from fedwalk.federation.private_file import write_text
from fedwalk.federation.records import REFUSAL, fields_to_records, from_records
from fedwalk.protocol.randomness import Randomness, SimulatedRandomness, SystemRandomness
from fedwalk.words import counted

DAY = 86400.0
"""Seconds to wait for an earlier process of this holder: a walk phase takes as long as it takes."""

MOST_ATTEMPTS = 8
"""Walk phases in one run: more than a server needs for walks that were lost, and no way around the owner's terms."""

app = ClientApp()


def answer(folder: HolderFolder, phase: str, records: RecordDict) -> Fields:
    """The answer to a question: the one that was given before, or a new one, kept before it leaves."""
    question = from_records(QUESTIONS[phase], records)
    settings = folder.settings()
    check_terms(settings.terms, phase, question)
    with Memory(folder.memory).locked(DAY) as memory:
        key = question_key(question)
        fields = memory.recall(phase, key)
        if fields is None:
            if PROTOCOL_OF.get(phase) == "paper":
                _enter_paper(memory, _snapshot(memory, question), settings)
            fields = pack(ANSWERS[phase](folder, settings, memory, question))
            memory.keep(phase, key, fields)
    return fields


def randomness(settings: HolderSettings) -> Randomness:
    """The operating system's; the owner's own seed only if the owner is trying things out."""
    return SystemRandomness() if settings.simulation_seed is None else SimulatedRandomness(settings.simulation_seed)


def _roll(folder: HolderFolder, settings: HolderSettings, memory: Memory, question: RollQuestion) -> Any:
    """Look the lists up under the federation's ids, and keep them as they are now for the rest of the run."""
    names = vertex_names(question)
    memory.pin_names(names)
    lists = resolve(read_lists(folder.path / settings.lists), names)
    if lists.unknown or lists.absent:
        neighbours = counted(lists.unknown, "neighbour", "neighbours")
        devices = counted(lists.absent, "device", "devices")
        say(f"not in the federation, and left out: {neighbours} and {devices} of the lists")
    lists = memory.keep_snapshot(question.run, lists)
    if question.protocol == "paper":
        # Who takes part tells already who has a neighbour.
        _enter_paper(memory, lists, settings)
    else:
        check_budget(question, memory.list_devices(lists, randomness(settings), settings.terms.budget))
    return answer_roll(question, lists, settings.name, settings.simulation_seed is not None)


def _enter_paper(memory: Memory, lists: KnownLists, settings: HolderSettings) -> None:
    """Write down that something without a bound is released, before it is: whatever the roll call was for."""
    devices = memory.list_devices(lists, randomness(settings), None)
    if enter_paper(devices):
        memory.keep_devices(devices)


def _lists(folder: HolderFolder, settings: HolderSettings, memory: Memory, question: ListsQuestion) -> Any:
    lists = _snapshot(memory, question)
    devices = memory.list_devices(lists, randomness(settings), settings.terms.budget)
    found = answer_lists(question, lists, devices)
    memory.keep_devices(devices)
    return found


def _vectors(folder: HolderFolder, settings: HolderSettings, memory: Memory, question: VectorsQuestion) -> Any:
    return answer_vectors(question, _snapshot(memory, question), randomness(settings))


def _matrices(folder: HolderFolder, settings: HolderSettings, memory: Memory, question: MatricesQuestion) -> Any:
    return answer_matrices(question, _snapshot(memory, question))


def _walks(folder: HolderFolder, settings: HolderSettings, memory: Memory, question: WalksQuestion) -> WalksAnswer:
    """Open the endpoint, walk with the others until all is over.

    An attempt is walked once. If an earlier process of this holder began it and ended, its tokens are lost and the
    others may have concluded: this one says so, and the server asks for the missing walks in a new attempt.
    """
    from fedwalk.federation.mill import Mill
    from fedwalk.federation.peers import walk_together

    lists = _snapshot(memory, question).restrict(question.participants)
    if settings.name not in question.holders:
        raise ProtocolError(f"WalksQuestion.holders: {settings.name} isn't among them.")
    if memory.answered("walks", question.run) >= MOST_ATTEMPTS:
        raise ProtocolError(f"WalksQuestion: this holder has walked {MOST_ATTEMPTS} times in this run already.")
    me = question.holders.index(settings.name)
    mill = Mill(question, lists, me, randomness(settings))
    if not memory.begin("walks", question_key(question)):
        say("walks: an earlier process of this holder began this attempt and ended; waiting for the next one")
        return interrupted(question)
    show = partial(_show, folder, time.time())
    members = partial(look_up_members, folder.path, read_pass(folder.path / "pass.json").server)
    return walk_together(mill, question, me, folder.credentials(), settings.listen, show, members)


def interrupted(question: WalksQuestion) -> WalksAnswer:
    """The answer to an attempt that was broken off here: nothing is left of it."""
    no_walks, no_ids = np.empty(0, np.int64), np.empty(0, np.int32)
    return WalksAnswer(
        hops=0, carried=0, batches=0, sent_bytes=0, seconds=0.0, interrupted=True, refused="{}", unreachable=[],
        given_up=no_walks, given_up_reasons=no_ids, given_up_at=no_ids, walks=no_walks,
        entries=np.empty((0, question.length), np.int32),
    )  # fmt: skip


def _show(folder: HolderFolder, began: float, standing: dict[str, Any]) -> None:
    """For `fedwalk federate status`, and for whoever waits."""
    with suppress(RunFolderError):
        write_text(folder.progress, json.dumps({"began": began, "now": time.time(), **standing}))


def _snapshot(memory: Memory, question: Any) -> KnownLists:
    lists = memory.snapshot(question.run)
    if lists is None:
        raise ProtocolError("this run had no roll call at this holder.")
    return lists


QUESTIONS: dict[str, type[Any]] = {
    "roll": RollQuestion, "lists": ListsQuestion, "vectors": VectorsQuestion, "matrices": MatricesQuestion,
    "walks": WalksQuestion,
}  # fmt: skip

ANSWERS: dict[str, Callable[..., Any]] = {
    "roll": _roll, "lists": _lists, "vectors": _vectors, "matrices": _matrices, "walks": _walks,
}  # fmt: skip


def handle(phase: str, message: Message, context: Context) -> Message:
    """Answer a message of Flower's."""
    try:
        folder = HolderFolder(Path(str(context.node_config["folder"])))
        fields = answer(folder, phase, message.content)
        said = "answered"
    except (ProtocolError, BudgetError) as error:
        said = f"refused: {error}"
        fields = {REFUSAL: str(error)}
    except Exception as error:
        said = f"failed, and the server was told no more than that: {type(error).__name__}: {error}"
        with suppress(OSError):
            traceback.print_exc()
        fields = {REFUSAL: "an error in the holder; its own log has the details"}
    say(f"{phase}: {said}")
    return Message(content=fields_to_records(fields), reply_to=message)


for _phase in QUESTIONS:
    app.query(_phase)(partial(handle, _phase))
