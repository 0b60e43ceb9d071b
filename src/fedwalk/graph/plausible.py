"""The number of vertices that an input announces, compared with what it holds.

A file of a few bytes can announce billions of vertices. Arrays have an entry for each of them, so memory must be
bounded by what the input holds and not by what it says.
"""

from fedwalk.errors import InputError
from fedwalk.util.text import counted

MAX_UNCHECKED = 1_000_000
"""As many vertices are always allowed."""

MAX_VERTICES_PER_ENTRY = 1000
"""The largest number of vertices for each entry in a larger graph. Graphs of real data have less than one."""


def check_plausible(vertices: int, entries: int, origin: str) -> None:
    """Raise InputError if the input announces far more vertices than it has entries.

    >>> check_plausible(2_000_000, 3000, "graph.mtx")
    """
    if vertices > max(MAX_UNCHECKED, MAX_VERTICES_PER_ENTRY * entries):
        raise InputError(
            f"{origin}: {vertices:,} vertices, but only {counted(entries, 'entry', 'entries')}, so nearly all have no "
            "edge; remove the vertices without edges and number the others anew, or give the edges as an edge list"
        )
