"""Bounds on what an answer may become in memory, and on how long its pieces are waited for.

Flower sends equal chunks once and puts them together as often as the sender says: five megabytes of zeros on the wire
can be a gigabyte when they arrive. So the size is reckoned before the pieces are joined. And an answer whose pieces
never come, because its sender stopped or was turned away, is given up as one that never came.
"""

import json
from collections.abc import Mapping
from typing import Any

from flwr.app import Array
from flwr.supercore.inflatable.inflatable_object import get_object_body

from fedwalk.errors import ProtocolError


def bound_answers(largest: int, seconds: float) -> None:
    """From now on, in this process: an answer is of so many bytes at most, and its pieces are waited for so long."""
    from flwr.superlink.grid import http_grid

    inflate = Array.inflate.__func__  # type: ignore[attr-defined]
    name, sizes = "pull_objects", list[int]()
    pull = getattr(http_grid, name)

    def pulling(*arguments: Any, **options: Any) -> Any:
        sizes.clear()
        return pull(*arguments, max_time=seconds, **options)

    def bounded(kind: type[Array], content: bytes, children: Mapping[str, Any] | None = None) -> Any:
        sizes.append(array_size(content, children or {}))
        check_size(sum(sizes), largest)
        return inflate(kind, content, children)

    setattr(http_grid, name, pulling)
    setattr(Array, "inflate", classmethod(bounded))  # noqa: B010 - mypy knows that it is a method


def array_size(content: bytes, children: Mapping[str, Any]) -> int:
    """The bytes of an array at most: every chunk is taken to be as large as the largest."""
    pieces = json.loads(get_object_body(content, Array))["arraychunk_ids"]
    return len(pieces) * max((len(chunk.data) for chunk in children.values()), default=0)


def check_size(size: int, largest: int) -> None:
    """Refuse an answer that is too large."""
    if size > largest:
        raise ProtocolError(f"an answer of {size >> 20} MB; the most is {largest >> 20} MB (federation.toml).")
