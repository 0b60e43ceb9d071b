"""The server's part of a federated run: what it asks the holders, and how it takes their answers.

Every answer is checked before it is used: it may speak only for the holder's own devices, in the shapes and ranges of
the protocol. A holder that doesn't answer, or answers what the protocol doesn't allow, is out for the rest of the run,
and the run goes on without its devices.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import ProtocolError
from fedwalk.federation.account import Account
from fedwalk.federation.parcels import (
    Fields,
    ListsAnswer,
    ListsQuestion,
    MatricesAnswer,
    MatricesQuestion,
    RollAnswer,
    RollQuestion,
    VectorsAnswer,
    VectorsQuestion,
    unpack,
)
from fedwalk.federation.roster import Holder, Roster
from fedwalk.kernels.threads import Report
from fedwalk.privacy.reports import check_list
from fedwalk.protocol.degree import DegreeMatrices
from fedwalk.protocol.messages import (
    DegreeMatrix,
    DegreeVector,
    Dictionary,
    GroupPlan,
    ListPlan,
    NoisyList,
)
from fedwalk.protocol.transcript import Transcript
from fedwalk.words import counted

P = TypeVar("P")
MOST_NOISE = 64.0
"""In units of 1/ε: what is drawn for c_v stays well below, and what is far beyond would stop everybody else."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no answer; `refused` if one came and couldn't be read."""

    reason: str
    refused: bool = False


class Post(Protocol):
    """Who carries questions to holders and answers back."""

    def ask(self, questions: dict[str, Any]) -> Iterator[tuple[str, Fields | Failure]]:
        """Send each holder its question; yield what comes, as it comes, until everybody answered or failed."""
        ...


@dataclass(slots=True)
class Coordinator:
    """Asks, checks, counts. `account` is what it keeps of the holders, `transcript` of the messages.

    With fewer holders than `need` at the roll call it stops there: no list and no vector has been asked for yet.
    """

    post: Post
    roster: Roster
    account: Account
    transcript: Transcript
    need: int = 1

    def ask(
        self,
        phase: str,
        questions: dict[str, Any],
        kind: type[P],
        check: Callable[[str, P], None],
        report: Report,
    ) -> dict[str, P]:
        """Everybody's checked answer, in the order of the questions whoever was first; who failed is lost."""
        answers: dict[str, P] = {}
        report(0, len(questions))
        for holder, outcome in self.post.ask(questions):
            if isinstance(outcome, Failure):
                self.account.lose(holder, phase, outcome.reason, refused=outcome.refused)
            else:
                try:
                    answer = unpack(kind, outcome)
                    check(holder, answer)
                    answers[holder] = answer
                except ProtocolError as error:
                    self.account.lose(holder, phase, str(error), refused=True)
            report(len(answers), len(questions))
        return {holder: answers[holder] for holder in questions if holder in answers}

    def roll(self, protocol: str, epsilon: float, walks: int, report: Report) -> NDArray[np.int32]:
        """Who is there, and can afford it: the ids of the devices that take part, ascending."""
        holders = [holder for holder in self.roster.holders if not holder.removed]
        if not holders:
            raise ProtocolError("the federation has no holders yet. Admit some: fedwalk federate admit")
        self.account.holders = {holder.name: len(holder.devices) for holder in holders}
        names = np.frombuffer(self.roster.names_json(), np.uint8)
        question = RollQuestion(self.account.run, protocol, names, epsilon, walks)
        if protocol == "paper":
            self._lose_unreachable(holders)
        questions = dict.fromkeys(self.account.living(), question)
        answers = self.ask("roll", questions, RollAnswer, self._check_roll, report) if questions else {}
        self.account.simulated = [holder for holder, answer in answers.items() if answer.simulated]
        if not answers:
            raise ProtocolError(f"no holder answered: {self.account.reasons()}. Start holders, then run again.")
        if len(answers) < self.need:
            reasons = self.account.reasons()
            raise ProtocolError(f"{len(answers)} of {self.need} holders answered the roll call: {reasons}.")
        return np.sort(np.concatenate([answer.devices for answer in answers.values()])).astype(np.int32)

    def _lose_unreachable(self, holders: list[Holder]) -> None:
        """Leave out of `paper` each holder without an address, before it is asked and releases anything.

        A plan of the walks that counts on a holder without an address is refused by all others.
        """
        for holder in holders:
            if not holder.address:
                self.account.lose(holder.name, "roll", "takes part in ldp alone: it has no address for others' tokens")

    def lists(self, plan: ListPlan, report: Report) -> dict[str, NDArray[Any]]:
        """Protocol `ldp`: the arrays of `Reports`, and `present`: whose list came. The others' are empty."""
        question = ListsQuestion(self.account.run, plan.vertices, plan.epsilon, plan.epoch)

        def check(holder: str, answer: ListsAnswer) -> None:
            self._check_ragged(holder, answer.devices, answer.starts, answer.ids, self.own(holder))
            for message in _lists(answer):
                check_list(plan, message)

        answers = self.ask("lists", dict.fromkeys(self.account.living(), question), ListsAnswer, check, report)
        lists = {message.device: message.ids for answer in answers.values() for message in _lists(answer)}
        present = np.isin(np.arange(plan.vertices), list(lists))
        empty = np.empty(0, np.int32)
        all_lists = [lists.get(v, empty) for v in range(plan.vertices)]
        self.transcript.tally(ListPlan, len(lists), len(lists) * ListPlan.size())
        self.transcript.tally(NoisyList, len(lists), sum(NoisyList.size(ids.size) for ids in lists.values()))
        starts = np.concatenate([[0], np.cumsum([ids.size for ids in all_lists])]).astype(np.int64)
        return {"starts": starts, "ids": np.concatenate(all_lists).astype(np.int32), "present": present}

    def vectors(self, participants: NDArray[np.int32], plan: GroupPlan, report: Report) -> NDArray[np.float32]:
        """c_v of every participant, by place; a row of NaN for each that was lost."""
        question = VectorsQuestion(self.account.run, plan.k, plan.epsilon, participants, plan.bins)
        most = participants.size + MOST_NOISE / plan.epsilon

        def check(holder: str, answer: VectorsAnswer) -> None:
            self._check_devices(holder, answer.devices, self.places(holder, participants))
            if answer.vectors.shape != (answer.devices.size, plan.k) or not np.isfinite(answer.vectors).all():
                raise ProtocolError(f"{holder}: a degree vector must be {plan.k} finite numbers.")
            if (np.abs(answer.vectors) > most).any():
                raise ProtocolError(f"{holder}: a degree vector has a number beyond {most:g}, which no noise explains.")

        answers = self.ask("vectors", dict.fromkeys(self.account.living(), question), VectorsAnswer, check, report)
        vectors = np.full((participants.size, plan.k), np.nan, np.float32)
        for answer in answers.values():
            vectors[answer.devices] = answer.vectors
        count = int(np.isfinite(vectors[:, 0]).sum())
        self.transcript.tally(GroupPlan, count, count * plan.nbytes)
        self.transcript.tally(DegreeVector, count, count * DegreeVector.size(plan.k))
        return vectors

    def matrices(self, participants: NDArray[np.int32], vectors: NDArray[np.float32], report: Report) -> DegreeMatrices:
        """M_v of every participant, by place; no rows for each that was lost or has no neighbour left."""
        question = MatricesQuestion(self.account.run, participants, vectors)
        k, known = vectors.shape[1], {row.tobytes() for row in vectors}

        def check(holder: str, answer: MatricesAnswer) -> None:
            self._check_ragged(holder, answer.devices, answer.starts, answer.rows, self.places(holder, participants))
            if answer.rows.shape[1] != k or not np.isfinite(answer.rows).all() or (np.diff(answer.starts) < 1).any():
                raise ProtocolError(f"{holder}: M_v must be rows of {k} finite numbers, one for each neighbour.")
            if (np.diff(answer.starts) >= participants.size).any():
                raise ProtocolError(f"{holder}: M_v has more rows than there are other vertices.")
            if not all(row.tobytes() in known for row in answer.rows):
                raise ProtocolError(f"{holder}: M_v has a row that is no row of the dictionary.")

        answers = self.ask("matrices", dict.fromkeys(self.account.living(), question), MatricesAnswer, check, report)
        stacked = [np.empty((0, k), np.float32)] * participants.size
        for answer in answers.values():
            for i, place in enumerate(answer.devices.tolist()):
                stacked[place] = answer.rows[answer.starts[i] : answer.starts[i + 1]]
        matrices = DegreeMatrices.stack(stacked)
        count = int((matrices.lengths > 0).sum())
        self.transcript.tally(Dictionary, count, count * Dictionary.size(*vectors.shape))
        self.transcript.tally(DegreeMatrix, count, count * DegreeMatrix.size(0, k) + 4 * matrices.rows.size)
        return matrices

    def own(self, holder: str) -> NDArray[np.int32]:
        """The ids of a holder's devices."""
        return np.asarray(self.roster.holder(holder).devices, np.int32)

    def places(self, holder: str, participants: NDArray[np.int32]) -> NDArray[np.int32]:
        """The places of a holder's devices among the participants."""
        return np.flatnonzero(np.isin(participants, self.own(holder))).astype(np.int32)

    def _check_roll(self, holder: str, answer: RollAnswer) -> None:
        if answer.holder != holder:
            raise ProtocolError(f"{holder}: says that it is {answer.holder[:80]!r}.")
        self._check_devices(holder, answer.devices, self.own(holder))

    def _check_devices(self, holder: str, devices: NDArray[np.int32], own: NDArray[np.int32]) -> None:
        """Refuse devices that are not the holder's, or come twice."""
        strangers = np.setdiff1d(devices, own)
        if strangers.size:
            foreign = counted(strangers.size, "device", "devices")
            raise ProtocolError(f"{holder}: speaks for {foreign} of others, device {strangers[0]} first.")
        if np.unique(devices).size != devices.size:
            raise ProtocolError(f"{holder}: speaks twice for the same device.")

    def _check_ragged(
        self, holder: str, devices: NDArray[np.int32], starts: NDArray[np.int64], values: NDArray[Any],
        own: NDArray[np.int32],
    ) -> None:  # fmt: skip
        """The same for answers with a different number of values per device."""
        self._check_devices(holder, devices, own)
        fits = starts.size == devices.size + 1 and starts[0] == 0 and starts[-1] == len(values)
        if not fits or (starts[1:] < starts[:-1]).any():
            raise ProtocolError(f"{holder}: its answer doesn't say whose values are whose.")


def _lists(answer: ListsAnswer) -> Iterator[NoisyList]:
    for i, device in enumerate(answer.devices.tolist()):
        yield NoisyList(device, answer.ids[answer.starts[i] : answer.starts[i + 1]])
