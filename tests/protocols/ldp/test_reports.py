"""The server accepts only reports that an honest device can have sent, and one per device."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from fedwalk.errors import ProtocolError
from fedwalk.kernels.ldp.randomised_response import owns
from fedwalk.protocols.ldp.messages import Report, ReportPlan
from fedwalk.protocols.ldp.reports import check_report, collect_reports

N = 30
PLAN = ReportPlan(N, 2.0)
OWNED = [u for u in range(N) if u != 4 and owns(np.uint64(PLAN.key), 4, u)]
FOREIGN = next(u for u in range(5, N) if u not in OWNED)
FIRST, SECOND, *_ = OWNED


def ids(*values: int, dtype: type = np.int32) -> NDArray[np.int32]:
    return np.array(values, dtype)


@pytest.mark.parametrize("chosen", [[], OWNED[:1], OWNED])
def test_an_honest_report_is_accepted(chosen: Sequence[int]) -> None:
    check_report(PLAN, Report(4, ids(*chosen)))


ORDER = r"device 4: a report must ascend from 0 to 29 at most, without repeats"
KIND = r"device 4: a report must be at most 29 ids"
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
def test_a_malformed_report_is_refused_and_its_sender_named(listed: NDArray[np.int32], message: str) -> None:
    with pytest.raises(ProtocolError, match=message):
        check_report(PLAN, Report(4, listed))


@pytest.mark.parametrize("device", [-1, N, 2**40])
def test_a_report_of_an_unknown_device_is_refused(device: int) -> None:
    with pytest.raises(ProtocolError, match=rf"device {device}: unknown; the devices are 0 … 29"):
        check_report(PLAN, Report(device, ids()))


def honest() -> list[Report]:
    found = [[u for u in range(0, N, 2) if u != v and owns(np.uint64(PLAN.key), v, u)] for v in range(N)]
    return [Report(v, ids(*chosen)) for v, chosen in enumerate(found)]


def test_reports_are_ordered_by_device_regardless_of_their_arrival() -> None:
    messages = honest()
    reports = collect_reports(PLAN, reversed(messages))
    assert reports.vertices == N
    for v, message in enumerate(messages):
        assert reports.ids[reports.starts[v] : reports.starts[v + 1]].tolist() == message.ids.tolist()


def test_counts_are_the_number_of_reported_pairs_of_each_vertex() -> None:
    reports = collect_reports(PLAN, honest())
    pairs = list(zip(*(ends.tolist() for ends in reports.pairs()), strict=True))
    assert reports.counts().tolist() == [sum(v in pair for pair in pairs) for v in range(N)]
    assert all(owns(np.uint64(PLAN.key), *pair) for pair in pairs)


def test_a_second_report_is_refused() -> None:
    with pytest.raises(ProtocolError, match=r"device 7: sent its report twice"):
        collect_reports(PLAN, [*honest()[:9], honest()[7]])


def test_missing_reports_are_counted_and_the_first_named() -> None:
    with pytest.raises(ProtocolError, match=r"report missing for 2 of 30 devices; the first is 3"):
        collect_reports(PLAN, [message for message in honest() if message.device not in (3, 20)])


def test_one_bad_report_among_good_ones_is_detected() -> None:
    with pytest.raises(ProtocolError, match=OWNER):
        collect_reports(PLAN, [*honest()[:4], Report(4, ids(FOREIGN))])
