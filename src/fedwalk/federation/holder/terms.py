"""The terms of a holder: what its owner has agreed to, and the checks that refuse everything beyond them.

The server is not trusted, so a holder checks each question against its own terms before it looks anything up or draws
any noise.
"""

import math
from dataclasses import dataclass, field

from fedwalk.errors import BudgetError, ProtocolError, SettingsError
from fedwalk.federation.wire.questions import Question, RollQuestion, WalksQuestion
from fedwalk.protocols.ldp.device import ReportDevice
from fedwalk.protocols.ldp.mechanism import MAX_EPSILON, MIN_EPSILON
from fedwalk.protocols.ldp.messages import ReportPlan
from fedwalk.protocols.registry import federated_protocols


def default_protocols() -> tuple[str, ...]:
    """The protocols that a holder takes part in unless its owner decides otherwise."""
    return tuple(name for name, federated in federated_protocols().items() if federated.allowed_by_default)


@dataclass(frozen=True, slots=True)
class Terms:
    """What the owner of a holder has agreed to. A question that asks for more is refused.

    Parameters
    ----------
    protocols
        The protocols that the holder takes part in. By default not `paper`, because nothing bounds what it reveals
        about the neighbour lists.
    budget
        The maximum ε per edge that all runs together may cost; None for no limit.
    max_walks
        The maximum number of walks that each device may start in a run; None for no limit.

    Examples
    --------
    >>> Terms().protocols
    ('ldp',)
    >>> Terms(budget=0)
    Traceback (most recent call last):
    fedwalk.errors.SettingsError: budget = 0: must be a finite number above 0, or left out.
    """

    protocols: tuple[str, ...] = field(default_factory=default_protocols)
    budget: float | None = None
    max_walks: int | None = None

    def __post_init__(self) -> None:
        for name in self.protocols:
            if name not in federated_protocols():
                able = " or ".join(federated_protocols())
                raise SettingsError(f"protocols: holders can't take part in {name!r}; choose {able}.")
        budget, max_walks = self.budget, self.max_walks
        # A comparison with NaN is False, so NaN is refused, too.
        if budget is not None and not (_is_number(budget) and 0 < budget < math.inf):
            raise SettingsError(f"budget = {budget!r}: must be a finite number above 0, or left out.")
        if max_walks is not None and not (_is_number(max_walks) and isinstance(max_walks, int) and max_walks >= 1):
            raise SettingsError(f"max_walks = {max_walks!r}: must be a whole number, at least 1, or left out.")

    @property
    def need_address(self) -> bool:
        """Whether other holders must reach this one: in some of the protocols devices send each other messages."""
        return any(federated_protocols()[name].devices_meet for name in self.protocols)


def protocol_of(question: Question) -> str:
    """The protocol of a question. All protocols have a roll call, so its question names the protocol."""
    if isinstance(question, RollQuestion):
        return question.protocol
    # Each other phase belongs to a single protocol.
    return next(name for name, federated in federated_protocols().items() if question.phase in federated.phases)


def check_terms(terms: Terms, question: Question) -> None:
    """Refuse a question that the terms don't allow."""
    protocol = protocol_of(question)
    # Terms contain only known protocols, so this also refuses unknown names before they are looked up.
    if protocol not in terms.protocols:
        raise ProtocolError(
            f"protocol {protocol!r}: the owner of this holder has agreed to {', '.join(terms.protocols) or 'none'}. "
            "To take part, the owner has to add it to `protocols` in the holder's terms (holder.toml)."
        )
    unbounded = federated_protocols()[protocol].unbounded
    if unbounded and terms.budget is not None:
        raise BudgetError(
            f"protocol {protocol}: {unbounded}, so no budget allows it; the owner's is {terms.budget:g}. To take part "
            "anyway, the owner has to take `budget` out of the holder's terms (holder.toml)."
        )
    num_walks = _walks_per_device(question)
    if terms.max_walks is not None and num_walks > terms.max_walks:
        raise ProtocolError(
            f"{num_walks} walks per device, but the owner of this holder has agreed to {terms.max_walks}. To take "
            "part, the owner has to raise `max_walks` in the holder's terms (holder.toml)."
        )


def _walks_per_device(question: Question) -> int:
    """The walks that each device is to start: announced at the roll call, and counted again in the walk phase.

    The server could ask for more walks than it announced, so the second check is needed too.
    """
    if isinstance(question, WalksQuestion):
        # Rounded up: walk w starts at place w mod n, so some devices start one walk more than others.
        return -(-question.count // max(1, question.participants.size))
    # In `ldp` only the server walks, over what the devices have reported; the devices start no walks.
    if isinstance(question, RollQuestion) and federated_protocols()[question.protocol].devices_meet:
        return question.walks
    return 0


def check_budget(plan: ReportPlan, devices: dict[int, ReportDevice]) -> None:
    """Refuse a roll call if a device's budget doesn't cover the report under this plan, which will follow.

    A refusal in the later phase would come too late: the other holders would have spent their budgets for nothing.
    """
    # An ε out of range isn't judged here: `answers` refuses it by name when the reports are asked for.
    if MIN_EPSILON <= plan.epsilon <= MAX_EPSILON:
        for device in devices.values():
            device.check_budget(plan)


def _is_number(value: object) -> bool:
    # bool is a subclass of int; `budget = true` in holder.toml must not count as 1.
    return isinstance(value, int | float) and not isinstance(value, bool)
