"""Checks the weight of an edge of a Python object, like a weight in a file."""

from collections.abc import Hashable
from math import inf, nan
from typing import Any

from fedwalk.errors import InputError


def checked_weight(u: Hashable, v: Hashable, weight: Any) -> float:
    """The weight as a number; InputError, which names the edge, unless it is finite and ≥ 0."""
    try:
        value = float(weight)
    except (TypeError, ValueError, OverflowError):
        value = nan
    if not 0 <= value < inf:
        raise InputError(f"the edge {u!r} – {v!r} has the weight {_shown(weight)}; expected a finite number ≥ 0")
    return value


def _shown(weight: Any) -> str:
    """The weight, shortened for a message. Python refuses to print integers of more than 4,300 digits."""
    try:
        return f"{weight!r:.60}"
    except ValueError:
        return "a very large integer"
