"""Answers that would be too large in memory are refused before their chunks are joined."""

from typing import Any

import numpy as np
import pytest
from flwr.app import Array
from flwr.superlink.grid import http_grid

from fedwalk.errors import ProtocolError
from fedwalk.federation.flower_guards.answer_limits import array_size, bound_answers


def parts(array: Array) -> tuple[bytes, dict[str, Any]]:
    return array.deflate(), dict(array.children)


@pytest.fixture
def bounded(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Limits answers to 16 MB; returns the patched function that starts the next answer."""
    monkeypatch.setattr(Array, "inflate", Array.__dict__["inflate"])
    monkeypatch.setattr(http_grid, "pull_objects", lambda *_, **options: options)
    bound_answers(16 << 20, 7.5)
    return http_grid.pull_objects  # type: ignore[attr-defined]


def test_equal_chunks_count_as_often_as_they_are_used() -> None:
    content, children = parts(Array(np.zeros(40 << 20, np.uint8)))
    assert len(children) <= 3
    assert 40 << 20 <= array_size(content, children) <= 46 << 20


def test_an_array_within_the_bound_is_put_together_as_before(bounded: Any) -> None:
    array = np.arange(3 << 20, dtype=np.int32)
    assert np.array_equal(Array.inflate(*parts(Array(array))).numpy(), array)


def test_an_array_beyond_the_bound_is_refused(bounded: Any) -> None:
    with pytest.raises(ProtocolError, match=r"an answer of 260 MB; at most 16 MB are allowed\. Raise `max_answer`"):
        Array.inflate(*parts(Array(np.zeros(1 << 28, np.uint8))))


def test_the_bound_is_for_all_arrays_of_an_answer_together(bounded: Any) -> None:
    content, children = parts(Array(np.zeros(4 << 20, np.uint8)))
    for _ in range(3):
        Array.inflate(content, children)
    assert 3 * array_size(content, children) <= 16 << 20 < 4 * array_size(content, children)
    with pytest.raises(ProtocolError, match="an answer of 16 MB"):
        Array.inflate(content, children)
    bounded()
    Array.inflate(content, children)


def test_the_wait_for_missing_chunks_is_limited(bounded: Any) -> None:
    assert bounded() == {"max_time": 7.5}
