"""Checks the weight of an edge of a Python object, like a weight in a file."""

from collections.abc import Hashable
from math import inf, nan
from typing import Any

from fedwalk.errors import InputError


def checked_weight(u: Hashable, v: Hashable, weight: Any) -> float:
    """The weight as a number; InputError, which names the edge, unless it is finite and ≥ 0."""
    try:
        value = float(weight)
    except (TypeError, ValueError):
        value = nan
    if not 0 <= value < inf:
        raise InputError(f"the edge {u!r} – {v!r} has the weight {weight!r}; expected a finite number ≥ 0")
    return value
