"""The server takes no list that an honest device can't have sent, and everybody's once."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from fedwalk.errors import ProtocolError
from fedwalk.kernels.lists import owns
from fedwalk.privacy.reports import check_list, collect_lists
from fedwalk.protocol.messages import ListPlan, NoisyList

N = 30
PLAN = ListPlan(N, 2.0)
OWNED = [u for u in range(N) if u != 4 and owns(np.uint64(PLAN.key), 4, u)]
FOREIGN = next(u for u in range(5, N) if u not in OWNED)
FIRST, SECOND, *_ = OWNED


def ids(*values: int, dtype: type = np.int32) -> NDArray[np.int32]:
    return np.array(values, dtype)


@pytest.mark.parametrize("chosen", [[], OWNED[:1], OWNED])
def test_an_honest_list_is_accepted(chosen: Sequence[int]) -> None:
    check_list(PLAN, NoisyList(4, ids(*chosen)))


ORDER = r"device 4: a list must ascend from 0 to 29 at most, without repeats"
KIND = r"device 4: a list must be at most 29 ids"
OWNER = r"device 4: reports a pair that it does not own"


@pytest.mark.parametrize(
    ("listed", "message"),
    [
        (ids(FIRST, N), ORDER),
        (ids(-1, FIRST), ORDER),
        (ids(SECOND, FIRST), ORDER),
        (ids(FIRST, FIRST), ORDER),
        (ids(*sorted([FIRST, FOREIGN])), OWNER),
        (ids(FOREIGN), OWNER),
        (ids(4), OWNER),
        (ids(*sorted([*OWNED, 4])), OWNER),
        (ids(FIRST, dtype=np.float32), KIND),
        (ids(FIRST, dtype=np.bool_), KIND),
        (np.array([[FIRST, SECOND]], np.int32), KIND),
        (np.int32(FIRST), KIND),
        (np.arange(N, dtype=np.int32), KIND),
        (np.array([FIRST, 2**64 - 1], np.uint64), ORDER),
        (np.array([2**63, FIRST], np.uint64), ORDER),
        (np.array([FIRST, 2**32 + SECOND], np.int64), ORDER),
    ],
)
def test_a_malformed_list_is_refused_and_its_sender_named(listed: NDArray[np.int32], message: str) -> None:
    with pytest.raises(ProtocolError, match=message):
        check_list(PLAN, NoisyList(4, listed))


@pytest.mark.parametrize("device", [-1, N, 2**40])
def test_a_list_from_nowhere_is_refused(device: int) -> None:
    with pytest.raises(ProtocolError, match=rf"device {device}: unknown; the devices are 0 … 29"):
        check_list(PLAN, NoisyList(device, ids()))


def honest() -> list[NoisyList]:
    found = [[u for u in range(0, N, 2) if u != v and owns(np.uint64(PLAN.key), v, u)] for v in range(N)]
    return [NoisyList(v, ids(*chosen)) for v, chosen in enumerate(found)]


def test_lists_are_kept_by_device_in_whatever_order_they_come() -> None:
    messages = honest()
    reports = collect_lists(PLAN, reversed(messages))
    assert reports.vertices == N
    for v, message in enumerate(messages):
        assert reports.ids[reports.starts[v] : reports.starts[v + 1]].tolist() == message.ids.tolist()


def test_counts_are_how_many_reported_pairs_a_vertex_stands_in() -> None:
    reports = collect_lists(PLAN, honest())
    pairs = list(zip(*(ends.tolist() for ends in reports.pairs()), strict=True))
    assert reports.counts().tolist() == [sum(v in pair for pair in pairs) for v in range(N)]
    assert all(owns(np.uint64(PLAN.key), *pair) for pair in pairs)


def test_a_second_list_is_refused() -> None:
    with pytest.raises(ProtocolError, match=r"device 7: sent its list twice"):
        collect_lists(PLAN, [*honest()[:9], honest()[7]])


def test_missing_lists_are_counted_and_the_first_named() -> None:
    with pytest.raises(ProtocolError, match=r"list missing for 2 of 30 devices; the first is 3"):
        collect_lists(PLAN, [message for message in honest() if message.device not in (3, 20)])


def test_one_bad_list_among_good_ones_is_found() -> None:
    with pytest.raises(ProtocolError, match=OWNER):
        collect_lists(PLAN, [*honest()[:4], NoisyList(4, ids(FOREIGN))])
