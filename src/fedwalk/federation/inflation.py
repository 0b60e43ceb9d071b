"""Bounds on what an answer may become in memory, and on how long its pieces are waited for.

Flower sends equal chunks once and puts them together as often as the sender says: five megabytes of zeros on the wire
can be a gigabyte when they arrive. So the size is reckoned before the pieces are joined. And an answer whose pieces
never come, because its sender stopped or was turned away, is given up as one that never came.
"""

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from flwr.app import Array
from flwr.supercore.inflatable.inflatable_object import get_object_body

from fedwalk.errors import ProtocolError


def bound_arrays(largest: int) -> None:
    """From now on refuse, in this process, to put together an array of more bytes than this."""
    inflate = Array.inflate.__func__  # type: ignore[attr-defined]

    def bounded(kind: type[Array], content: bytes, children: Mapping[str, Any] | None = None) -> Any:
        check_size(content, children or {}, largest)
        return inflate(kind, content, children)

    setattr(Array, "inflate", classmethod(bounded))  # noqa: B010 - mypy knows that it is a method


def bound_waiting(seconds: float) -> None:
    """From now on wait this long, in this process, for the pieces of an answer that has been announced."""
    from flwr.superlink.grid import http_grid

    name = "pull_objects"
    setattr(http_grid, name, partial(getattr(http_grid, name), max_time=seconds))


def check_size(content: bytes, children: Mapping[str, Any], largest: int) -> None:
    """Refuse an array of too many chunks, each taken to be as large as the largest."""
    pieces = json.loads(get_object_body(content, Array))["arraychunk_ids"]
    size = len(pieces) * max((len(chunk.data) for chunk in children.values()), default=0)
    if size > largest:
        raise ProtocolError(f"an array of {size >> 20} MB; the most is {largest >> 20} MB (federation.toml).")
