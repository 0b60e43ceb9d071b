"""Answers that are larger in memory than on the wire are refused before they are."""

import numpy as np
import pytest
from flwr.app import Array

from fedwalk.errors import ProtocolError
from fedwalk.federation.inflation import bound_arrays, check_size


def parts(array: Array) -> tuple[bytes, dict[str, object]]:
    return array.deflate(), dict(array.children)


def test_equal_chunks_count_as_often_as_they_are_used() -> None:
    zeros = Array(np.zeros(40 << 20, np.uint8))
    content, children = parts(zeros)
    assert len(children) <= 3
    check_size(content, children, 46 << 20)
    with pytest.raises(ProtocolError, match="an array of 45 MB; the most is 39 MB"):
        check_size(content, children, 39 << 20)


def test_an_array_within_the_bound_is_put_together_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Array, "inflate", Array.__dict__["inflate"])
    bound_arrays(16 << 20)
    array = np.arange(3 << 20, dtype=np.int32)
    content, children = parts(Array(array))
    assert np.array_equal(Array.inflate(content, children).numpy(), array)  # type: ignore[arg-type]
    content, children = parts(Array(np.zeros(1 << 28, np.uint8)))
    with pytest.raises(ProtocolError):
        Array.inflate(content, children)  # type: ignore[arg-type]
