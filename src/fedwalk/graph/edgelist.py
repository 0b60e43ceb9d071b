"""Reader for edge lists: a line `vertex vertex [weight]` for every undirected edge.

A file of plain integers is parsed as one table, which is faster; any other file is read line by line.
"""

import io
import re
from array import array
from itertools import islice
from math import isfinite
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedwalk.graph.build import from_edges
from fedwalk.graph.graph import Graph
from fedwalk.graph.names import is_integer, number_nodes, parse_names
from fedwalk.graph.text import SEPARATORS, Text, read_text

_HEADERS = frozenset(
    {
        ("source", "target"), ("src", "dst"), ("src", "dest"), ("from", "to"), ("head", "tail"),
        ("node1", "node2"), ("node_1", "node_2"), ("id1", "id2"), ("id_1", "id_2"), ("vertex1", "vertex2"),
        ("fromnodeid", "tonodeid"), ("source_id", "target_id"),
    }
)  # fmt: skip
_WEIGHTS = ("weight", "weights", "value", "w")
_LEADING_COMMENTS = re.compile(rb"\A(?:[ \t]*(?:[#%][^\n]*)?\n)*")
_LEADING_ZERO = re.compile(rb"\b0[0-9]")
_EXPECTED = "expected 'vertex vertex' or 'vertex vertex weight'"


def read_edgelist(path: Path) -> Graph:
    """Read a file with one edge per line.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "friends.csv")
    >>> _ = path.write_text("source,target\\nann,bob\\nbob,cy\\nbob,ann\\n")
    >>> graph = read_edgelist(path)
    >>> graph.names.tolist(), graph.edges
    (['ann', 'bob', 'cy'], 2)
    >>> graph.notes
    ("the header 'source,target' was skipped", '1 repeated edge dropped')
    """
    text = read_text(path)
    separator = _separator(text)
    header, notes = _header(text, separator)
    numbers = _integer_table(text, separator, header)
    if numbers is None:
        return _read_carefully(text, separator, header, notes)
    names, ids = number_nodes(numbers[:, :2])
    weights = numbers[:, 2].astype(np.float64) if numbers.shape[1] == 3 else None
    return from_edges(ids[:, 0], ids[:, 1], names, weights=weights, notes=notes)


def _separator(text: Text) -> bytes | None:
    """The separator with which most of the first lines parse as edges."""

    def fit(separator: bytes | None) -> tuple[int, int]:
        rows = text.sample(separator)
        split = 0 if separator is None else sum(len(fields) > 1 for fields in rows)
        return sum(map(_is_edge, rows)), split

    return max((*SEPARATORS, None), key=fit)


def _is_edge(fields: list[bytes]) -> bool:
    """Whether the fields could be an edge."""
    return 2 <= len(fields) <= 3 and all(fields) and _weight(fields) is not None


def _weight(fields: list[bytes]) -> float | None:
    """The weight on the line: 1 if there is none, None if it isn't a finite number ≥ 0."""
    if len(fields) == 2:
        return 1.0
    try:
        weight = float(fields[2])
    except ValueError:
        return None
    return weight if isfinite(weight) and weight >= 0 else None


def _header(text: Text, separator: bytes | None) -> tuple[int, tuple[str, ...]]:
    """The line number of the header (0 if there is none) and a note about it.

    A first line is a header if it has well-known column names. In a file with tabs, commas or semicolons it is also
    one if it has words and all further lines have integers: a single vertex with a word as its name is unlikely.
    """
    number, first = next(text.rows(separator), (0, []))
    if not 2 <= len(first) <= 3:
        return 0, ()
    words = [field.decode().casefold() for field in first]
    ends = [field.decode() for fields in text.sample(separator)[1:] for field in fields[:2]]
    known = (words[0], words[1]) in _HEADERS or (len(words) == 3 and words[2] in _WEIGHTS)
    above_integers = bool(ends) and all(map(is_integer, ends)) and not any(map(_is_number, first[:2]))
    if not (known or (separator is not None and above_integers)):
        return 0, ()
    shown = (separator or b" ").join(first).decode()
    if len(words) == 3 and words[2] in {word for pair in _HEADERS for word in pair}:
        raise text.error(number, f"the columns '{shown}' must be the two vertices and then, if any, the weight")
    return number, (f"the header '{shown}' was skipped",)


def _is_number(field: bytes) -> bool:
    """Whether the field is a number of any kind."""
    try:
        float(field)
    except ValueError:
        return False
    return True


def _integer_table(text: Text, separator: bytes | None, header: int) -> NDArray[np.int64] | None:
    """The whole file as one table if it consists of plain integers, or else None."""
    start = sum(map(len, islice(io.BytesIO(text.data), header)))
    body = _LEADING_COMMENTS.sub(b"", text.data[start:], count=1)
    other_bytes = body.translate(None, b"0123456789 \t\n" + (separator or b""))
    # 007 and 7 are different names, but the same integer.
    if other_bytes or not body.strip() or _LEADING_ZERO.search(body):
        return None
    delimiter = None if separator is None else separator.decode()
    try:
        table = np.loadtxt(io.BytesIO(body), np.int64, comments=None, delimiter=delimiter, ndmin=2)
    except ValueError:
        return None
    return table if table.shape[1] in (2, 3) else None


def _read_carefully(text: Text, separator: bytes | None, header: int, notes: tuple[str, ...]) -> Graph:
    """Read line by line: any names and weights, and errors with line numbers."""
    ids: dict[bytes, int] = {}
    source, target = array("q"), array("q")
    weights = array("d")
    for number, fields in text.rows(separator):
        if number == header:
            continue
        plain = len(fields) == 2 and fields[0] and fields[1]
        weights.append(1.0 if plain else _checked_weight(text, number, fields))
        source.append(ids.setdefault(fields[0], len(ids)))
        target.append(ids.setdefault(fields[1], len(ids)))
    if not ids:
        raise text.error(1, f"the file has no edges; {_EXPECTED} on each line")
    names = parse_names([name.decode() for name in ids], str(text.path))
    ends = np.frombuffer(source, np.int64), np.frombuffer(target, np.int64)
    return from_edges(*ends, names, weights=np.frombuffer(weights, np.float64), notes=notes)


def _checked_weight(text: Text, number: int, fields: list[bytes]) -> float:
    """The weight of an edge, or an error that says what is wrong with the line."""
    if not 2 <= len(fields) <= 3:
        raise text.error(number, f"{_EXPECTED}, found {_columns(fields)}; fix or remove the line")
    if not (fields[0] and fields[1]):
        raise text.error(number, f"{_EXPECTED}, found an empty vertex name; fix or remove the line")
    weight = _weight(fields)
    if weight is None:
        shown = fields[2].decode()
        raise text.error(number, f"the weight {shown!r} isn't a finite number ≥ 0; fix it or drop the column")
    return weight


def _columns(fields: list[bytes]) -> str:
    """A malformed line, shortened for a message."""
    shown = b" ".join(fields).decode()
    return f"{len(fields)} column{'s' if len(fields) > 1 else ''} ({shown[:60]!r})"
