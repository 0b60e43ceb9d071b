"""Bounds on an answer's size in memory, and on the time that the server waits for its pieces.

Flower sends equal chunks once and repeats them on arrival as often as the sender says: five megabytes of zeros on the
wire can become a gigabyte. So the size is computed before the chunks are joined. An answer whose pieces don't arrive,
because its sender stopped or was refused, is given up after a while and counts as missing.
"""

import json
from collections.abc import Mapping
from typing import Any

from flwr.app import Array

from fedwalk.errors import ProtocolError
from fedwalk.federation.flower_guards.hooks import install


def bound_answers(max_bytes: int, timeout: float) -> None:
    """Bound every answer that this process receives from now on: its bytes, and the seconds to wait for its pieces."""
    sizes = list[int]()

    def pull_bounded(*arguments: Any, **options: Any) -> Any:
        # One call pulls one answer, so the count of its bytes starts again here.
        sizes.clear()
        return pull(*arguments, max_time=timeout, **options)

    def inflate_bounded(kind: type[Array], content: bytes, children: Mapping[str, Any] | None = None) -> Any:
        sizes.append(array_size(content, children or {}))
        check_size(sum(sizes), max_bytes)
        # `inflate` is a bound classmethod; its function takes the class that Flower passes.
        return inflate.__func__(kind, content, children)

    pull = install("flwr.superlink.grid.http_grid:pull_objects", pull_bounded)
    inflate = install("flwr.app:Array.inflate", classmethod(inflate_bounded))


def array_size(content: bytes, children: Mapping[str, Any]) -> int:
    """An upper bound on the bytes of an array: every chunk is taken to be as large as the largest."""
    from flwr.supercore.inflatable.inflatable_object import get_object_body

    chunks = json.loads(get_object_body(content, Array))["arraychunk_ids"]
    return len(chunks) * max((len(chunk.data) for chunk in children.values()), default=0)


def check_size(size: int, max_bytes: int) -> None:
    """Refuse an answer that is too large."""
    if size > max_bytes:
        raise ProtocolError(
            f"an answer of {size >> 20} MB; at most {max_bytes >> 20} MB are allowed. Raise `max_answer` in "
            "federation.toml."
        )
