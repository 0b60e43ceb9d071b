"""Which columns or attributes of an input hold the two vertices of an edge, its weight, and a vertex's label.

Tables in files, data frames and Arrow tables all choose their columns here, so that the same names are recognised
everywhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from fedwalk.errors import InputError

_ENDS = (
    ("source", "target"), ("src", "dst"), ("src", "dest"), ("from", "to"), ("head", "tail"), ("start", "end"),
    ("node1", "node2"), ("node_1", "node_2"), ("id1", "id2"), ("id_1", "id_2"), ("vertex1", "vertex2"), ("u", "v"),
    ("fromnodeid", "tonodeid"), ("source_id", "target_id"), ("source_node", "target_node"),
)  # fmt: skip
_WEIGHTS = ("weight", "weights", "edge_weight", "value", "w")


@dataclass(frozen=True, slots=True)
class Fields:
    """What the user chose: the names of the columns of edges, and the node attribute that holds labels."""

    source: str | None = None
    target: str | None = None
    weight: str | None = None
    label: str | None = None

    @property
    def named(self) -> bool:
        """Whether a column of vertices was chosen, which only a table has."""
        return self.source is not None or self.target is not None


@dataclass(frozen=True, slots=True)
class EdgeColumns:
    """The positions of the columns to read; `weight` is None if there is none."""

    source: int
    target: int
    weight: int | None
    note: str | None = None


def choose_columns(names: Sequence[str], fields: Fields, origin: str) -> EdgeColumns:
    """The columns of a table to read: those that the user named, or else those with well-known names.

    >>> choose_columns(["id", "Source", "Target", "weight"], Fields(), "edges.csv")
    EdgeColumns(source=1, target=2, weight=3, note="the column 'id' was ignored")
    """
    source, target = _choose_ends(names, fields, origin)
    weight = _choose_weight(names, fields, origin, (source, target))
    ignored = [repr(name) for place, name in enumerate(names) if place not in (source, target, weight)]
    note = None
    if ignored:
        note = f"the column{'s' if len(ignored) > 1 else ''} {', '.join(ignored[:5])} {_were(len(ignored))} ignored"
    return EdgeColumns(source, target, weight, note)


def known_header(words: Sequence[str]) -> bool:
    """Whether these are well-known names of columns, rather than the names of vertices."""
    lower = [word.casefold() for word in words]
    return _known_ends(lower) is not None or (len(lower) == 3 and lower[2] in _WEIGHTS)


def _choose_ends(names: Sequence[str], fields: Fields, origin: str) -> tuple[int, int]:
    lower = [name.casefold() for name in names]
    if fields.source is not None and fields.target is not None:
        ends = _place(names, fields.source, "--source", origin), _place(names, fields.target, "--target", origin)
        if ends[0] == ends[1]:
            raise InputError(f"{origin}: both ends of an edge can't be the column {fields.source!r}; choose two")
        return ends
    if fields.named:
        given, other = ("--source", "--target") if fields.source is not None else ("--target", "--source")
        raise InputError(f"{origin}: {given} alone isn't enough; name the other end of the edges with {other}")
    known = _known_ends(lower)
    if known is not None:
        return known
    # Two columns, or two and a weight, leave no doubt. Of three unknown ones, the first could be a row number.
    if len(names) == 2 or (len(names) == 3 and lower[2] in _WEIGHTS):
        return 0, 1
    raise InputError(
        f"{origin}: which of the columns {_listed(names)} hold the two ends of an edge? Rename them to source and "
        "target, or name them with --source and --target (in Python: source=…, target=…)"
    )


def _choose_weight(names: Sequence[str], fields: Fields, origin: str, ends: tuple[int, int]) -> int | None:
    if fields.weight is not None:
        place = _place(names, fields.weight, "--weight", origin)
        if place in ends:
            raise InputError(
                f"{origin}: the column {fields.weight!r} (--weight) has one end of the edges; choose another column"
            )
        return place
    lower = [name.casefold() for name in names]
    places = [lower.index(name) for name in _WEIGHTS if name in lower]
    return next((place for place in places if place not in ends), None)


def _known_ends(lower: Sequence[str]) -> tuple[int, int] | None:
    """The positions of the first well-known pair of names."""
    for one, other in _ENDS:
        if lower.count(one) == 1 and lower.count(other) == 1:
            return lower.index(one), lower.index(other)
    return None


def _place(names: Sequence[str], name: str, flag: str, origin: str) -> int:
    """The position of a column that the user named."""
    if list(names).count(name) != 1:
        count = "no" if name not in names else "more than one"
        raise InputError(f"{origin}: {count} column {name!r} ({flag}); the columns are {_listed(names)}")
    return list(names).index(name)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:12])
    return shown + (f" and {len(names) - 12} more" if len(names) > 12 else "")


def _were(count: int) -> str:
    return "were" if count > 1 else "was"
