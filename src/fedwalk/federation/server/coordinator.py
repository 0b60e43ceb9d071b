"""The server's part of a federated run: sends the questions to the holders, and validates and combines their answers.

Every answer is checked before it is used: it may only contain values of the holder's own devices, in the shapes and
ranges of the protocol. A holder that doesn't answer, or whose answer breaks the protocol, is lost: the rest of the run
goes on without it and its devices.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import ProtocolError
from fedwalk.federation.membership.roster import Holder, Roster
from fedwalk.federation.server.statistics import RunStatistics
from fedwalk.federation.wire.questions import (
    MATRICES_PHASE,
    REPORTS_PHASE,
    ROLL_PHASE,
    VECTORS_PHASE,
    Fields,
    MatricesAnswer,
    MatricesQuestion,
    Phase,
    ReportsAnswer,
    ReportsQuestion,
    RollAnswer,
    RollQuestion,
    VectorsAnswer,
    VectorsQuestion,
    unpack,
)
from fedwalk.protocols.ldp.messages import Report, ReportPlan
from fedwalk.protocols.ldp.reports import check_report
from fedwalk.protocols.paper.degree_vectors import DegreeMatrices
from fedwalk.protocols.paper.messages import DegreeMatrix, DegreeVector, Dictionary, GroupPlan
from fedwalk.protocols.registry import federated_protocols
from fedwalk.protocols.transcript import Transcript
from fedwalk.util.parallel import Progress
from fedwalk.util.text import counted

A = TypeVar("A")
MAX_NOISE = 64.0
"""Bound on the noise in c_v, in units of 1/ε: honest Laplace noise stays far below it. A much larger number would reach
all holders in the walk plan, and they would refuse the plan: one hostile holder could stop the run for all."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no usable answer; `invalid` if one arrived but couldn't be read."""

    reason: str
    invalid: bool = False


class HolderChannel(Protocol):
    """Carries questions to the holders, and their answers back."""

    def ask(self, questions: dict[str, Any]) -> Iterator[tuple[str, Fields | Failure]]:
        """Send each holder its question; yield each answer or failure as it arrives, until there is one per holder."""
        ...


@dataclass(slots=True)
class Coordinator:
    """Asks the holders and validates their answers.

    `statistics` records what becomes of the holders, `transcript` counts the messages. If fewer than `min_holders`
    answer the roll call the run stops there, before a report or a vector was asked for.
    """

    channel: HolderChannel
    roster: Roster
    statistics: RunStatistics
    transcript: Transcript
    min_holders: int = 1

    def ask(
        self,
        phase: Phase[Any, A],
        questions: dict[str, Any],
        check: Callable[[str, A], None],
        on_progress: Progress,
    ) -> dict[str, A]:
        """Validated answers in the order of the questions; holders that fail are marked lost."""
        answers: dict[str, A] = {}
        on_progress(0, len(questions))
        for holder, outcome in self.channel.ask(questions):
            if isinstance(outcome, Failure):
                self.statistics.lose(holder, phase.name, outcome.reason, invalid=outcome.invalid)
            else:
                try:
                    answer = unpack(phase.answer, outcome)
                    check(holder, answer)
                    answers[holder] = answer
                except ProtocolError as error:
                    self.statistics.lose(holder, phase.name, str(error), invalid=True)
            on_progress(len(answers), len(questions))
        # Not in the order of arrival: results must not depend on which holder was faster.
        return {holder: answers[holder] for holder in questions if holder in answers}

    def roll(self, protocol: str, epsilon: float, walks: int, on_progress: Progress) -> NDArray[np.int32]:
        """Hold the roll call; returns the ids of the devices that take part, ascending."""
        holders = [holder for holder in self.roster.holders if not holder.removed]
        if not holders:
            raise ProtocolError("the federation has no holders yet. Admit some: fedwalk federate admit")
        # Set before the questions: `living` returns these holders without the lost ones.
        self.statistics.holders = {holder.name: len(holder.devices) for holder in holders}
        names = np.frombuffer(self.roster.names_json(), np.uint8)
        question = RollQuestion(self.statistics.run, protocol, names, epsilon, walks)
        if federated_protocols()[protocol].devices_meet:
            self._lose_unreachable(holders)
        questions = dict.fromkeys(self.statistics.living(), question)
        answers = self.ask(ROLL_PHASE, questions, self._check_roll, on_progress) if questions else {}
        self.statistics.simulated = [holder for holder, answer in answers.items() if answer.simulated]
        if not answers:
            raise ProtocolError(f"no holder answered: {self.statistics.reasons()}. Start holders and run again.")
        if len(answers) < self.min_holders:
            reasons = self.statistics.reasons()
            raise ProtocolError(
                f"{len(answers)} of {counted(len(holders), 'holder', 'holders')} answered the roll call, and the run "
                f"needs at least {self.min_holders}: {reasons}. Wait for the others and run again, or "
                "lower --min-holders."
            )
        # The order defines the places: later phases name a vertex by its index in this array.
        return np.sort(np.concatenate([answer.devices for answer in answers.values()])).astype(np.int32)

    def _lose_unreachable(self, holders: list[Holder]) -> None:
        """Leave out holders without an address, before they are asked and release anything.

        Other holders couldn't send tokens to them, and refuse a walk plan in which such a holder takes part.
        """
        for holder in holders:
            if not holder.address:
                reason = "it has no address to which other holders could send tokens"
                self.statistics.lose(holder.name, ROLL_PHASE.name, reason)

    def reports(self, plan: ReportPlan, on_progress: Progress) -> dict[str, NDArray[Any]]:
        """Protocol `ldp`: the arrays of `Reports`, and `present`, which marks the vertices whose report has arrived.

        The reports of all other vertices are empty.
        """
        question = ReportsQuestion(self.statistics.run, plan.vertices, plan.epsilon, plan.epoch)

        def check(holder: str, answer: ReportsAnswer) -> None:
            self._check_ragged(holder, answer.devices, answer.starts, answer.ids, self.own(holder))
            for message in _reports(answer):
                check_report(plan, message)

        questions = dict.fromkeys(self.statistics.living(), question)
        answers = self.ask(REPORTS_PHASE, questions, check, on_progress)
        reports = {message.device: message.ids for answer in answers.values() for message in _reports(answer)}
        present = np.isin(np.arange(plan.vertices), list(reports))
        empty = np.empty(0, np.int32)
        all_reports = [reports.get(v, empty) for v in range(plan.vertices)]
        # Counted are the protocol's messages, one per device, and not Flower's, which carry many of them.
        self.transcript.tally(ReportPlan, len(reports), len(reports) * ReportPlan.size())
        self.transcript.tally(Report, len(reports), sum(Report.size(ids.size) for ids in reports.values()))
        starts = np.concatenate([[0], np.cumsum([ids.size for ids in all_reports])]).astype(np.int64)
        return {"starts": starts, "ids": np.concatenate(all_reports).astype(np.int32), "present": present}

    def vectors(self, participants: NDArray[np.int32], plan: GroupPlan, on_progress: Progress) -> NDArray[np.float32]:
        """c_v of every participant, by place; a row of NaN for each participant that was lost."""
        # Algorithm 2 of the paper, lines 2 to 6: the group plan goes out, and c_v comes back.
        question = VectorsQuestion(self.statistics.run, plan.k, plan.epsilon, participants, plan.bins)
        # c_v counts neighbours, at most one per participant, plus noise.
        bound = participants.size + MAX_NOISE / plan.epsilon

        def check(holder: str, answer: VectorsAnswer) -> None:
            self._check_devices(holder, answer.devices, self.places(holder, participants))
            if answer.vectors.shape != (answer.devices.size, plan.k) or not np.isfinite(answer.vectors).all():
                raise ProtocolError(f"{holder}: a degree vector must be {plan.k} finite numbers.")
            if (np.abs(answer.vectors) > bound).any():
                raise ProtocolError(f"{holder}: a degree vector has a number beyond {bound:g}, too large for noise.")

        questions = dict.fromkeys(self.statistics.living(), question)
        answers = self.ask(VECTORS_PHASE, questions, check, on_progress)
        vectors = np.full((participants.size, plan.k), np.nan, np.float32)
        for answer in answers.values():
            vectors[answer.devices] = answer.vectors
        # All numbers of an accepted vector are finite, so one column tells which rows have arrived.
        count = int(np.isfinite(vectors[:, 0]).sum())
        self.transcript.tally(GroupPlan, count, count * plan.nbytes)
        self.transcript.tally(DegreeVector, count, count * DegreeVector.size(plan.k))
        return vectors

    def matrices(
        self, participants: NDArray[np.int32], vectors: NDArray[np.float32], on_progress: Progress
    ) -> DegreeMatrices:
        """M_v of every participant, by place; no rows for participants that were lost or have no neighbour left."""
        # Algorithm 2 of the paper, lines 8 to 12: the dictionary goes out, and M_v comes back.
        question = MatricesQuestion(self.statistics.run, participants, vectors)
        # M_v consists of rows of the dictionary that the server sent, so each row can be checked exactly.
        k, known = vectors.shape[1], {row.tobytes() for row in vectors}

        def check(holder: str, answer: MatricesAnswer) -> None:
            self._check_ragged(holder, answer.devices, answer.starts, answer.rows, self.places(holder, participants))
            # A holder leaves out its devices without a neighbour, so no M_v in an answer is empty.
            if answer.rows.shape[1] != k or not np.isfinite(answer.rows).all() or (np.diff(answer.starts) < 1).any():
                raise ProtocolError(f"{holder}: M_v must be rows of {k} finite numbers, one for each neighbour.")
            if (np.diff(answer.starts) >= participants.size).any():
                raise ProtocolError(f"{holder}: M_v has more rows than there are other vertices.")
            if not all(row.tobytes() in known for row in answer.rows):
                raise ProtocolError(f"{holder}: M_v has a row that isn't in the dictionary.")

        questions = dict.fromkeys(self.statistics.living(), question)
        answers = self.ask(MATRICES_PHASE, questions, check, on_progress)
        stacked = [np.empty((0, k), np.float32)] * participants.size
        for answer in answers.values():
            for i, place in enumerate(answer.devices.tolist()):
                stacked[place] = answer.rows[answer.starts[i] : answer.starts[i + 1]]
        matrices = DegreeMatrices.stack(stacked)
        count = int((matrices.lengths > 0).sum())
        self.transcript.tally(Dictionary, count, count * Dictionary.size(*vectors.shape))
        # The messages without rows, plus 4 bytes for each number in the rows.
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
            raise ProtocolError(f"{holder}: its answer names another holder, {answer.holder[:80]!r}.")
        self._check_devices(holder, answer.devices, self.own(holder))

    def _check_devices(self, holder: str, devices: NDArray[np.int32], own: NDArray[np.int32]) -> None:
        """Refuse an answer for devices that aren't the holder's, or with a device twice."""
        # Fewer devices than the holder has are valid: in `paper` those without a neighbour don't take part.
        foreign = np.setdiff1d(devices, own)
        if foreign.size:
            num_foreign = counted(foreign.size, "device", "devices")
            raise ProtocolError(f"{holder}: answers for {num_foreign} of other holders, the first is {foreign[0]}.")
        if np.unique(devices).size != devices.size:
            raise ProtocolError(f"{holder}: answers twice for the same device.")

    def _check_ragged(
        self, holder: str, devices: NDArray[np.int32], starts: NDArray[np.int64], values: NDArray[Any],
        own: NDArray[np.int32],
    ) -> None:  # fmt: skip
        """Check the devices of an answer in which the number of values differs from device to device."""
        self._check_devices(holder, devices, own)
        # The size comes first, because an empty `starts` has no first element.
        fits = starts.size == devices.size + 1 and starts[0] == 0 and starts[-1] == len(values)
        if not fits or (starts[1:] < starts[:-1]).any():
            raise ProtocolError(f"{holder}: its answer doesn't divide the values among the devices.")


def _reports(answer: ReportsAnswer) -> Iterator[Report]:
    """The reports in an answer, one per device."""
    for i, device in enumerate(answer.devices.tolist()):
        yield Report(device, answer.ids[answer.starts[i] : answer.starts[i + 1]])
