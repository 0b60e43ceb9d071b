"""Reader for edges in text: a line `vertex vertex [weight]` for every edge, or a table with a header (CSV, TSV).

Three ways lead to the same graph: pyarrow for tables with a separator, numpy for plain integers, and a loop over the
lines for everything else. The loop also gives the errors with their line numbers, so the fast ways give up if in doubt.
"""

import io
import re
from array import array
from itertools import islice
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from fedwalk.graph.build import from_edges
from fedwalk.graph.fields import EdgeColumns, Fields, choose_columns, known_header
from fedwalk.graph.formats.arrow_text import read_with_arrow
from fedwalk.graph.formats.networkx_text import is_networkx_text, read_networkx_text
from fedwalk.graph.graph import Graph
from fedwalk.graph.names import is_integer, number_nodes, parse_names
from fedwalk.graph.sources import Content
from fedwalk.graph.text import SEPARATORS, Text, split_line, text_of
from fedwalk.util.text import counted

_LEADING_COMMENTS = re.compile(rb"\A(?:[ \t]*(?:[#%][^\n]*)?\n)*")
_COMMENT = re.compile(rb"^[ \t]*([#%][^\n]*)", re.MULTILINE)
_LEADING_ZERO = re.compile(rb"\b0[0-9]")
_EXPECTED = "expected 'vertex vertex' or 'vertex vertex weight'"


def read_edgelist(content: Content, fields: Fields) -> Graph:
    """Read a file with one edge per line.

    >>> from pathlib import Path
    >>> friends = b"source,target\\nann,bob\\nbob,cy\\nbob,ann\\n"
    >>> graph = read_edgelist(Content(Path("friends.csv"), friends), Fields())
    >>> graph.names.tolist(), graph.edges
    (['ann', 'bob', 'cy'], 2)
    >>> graph.notes
    ("the header 'source,target' was skipped", '1 repeated edge dropped')
    """
    text = text_of(content)
    if is_networkx_text(text):
        return read_networkx_text(text, fields)
    separator = _separator(text, fields)
    header, columns, notes = _header(text, separator, fields)
    body = _body(text, header)
    notes += _skipped(body, separator, text)
    graph = read_with_arrow(body, separator, columns, notes, str(text.path)) if separator is not None else None
    if graph is None and not header:
        graph = _read_integers(body, separator, notes)
    return _read_carefully(text, separator, header, columns, notes) if graph is None else graph


def _separator(text: Text, fields: Fields) -> bytes | None:
    """The separator with which most of the first lines parse as edges."""

    def fit(separator: bytes | None) -> tuple[int, int, int]:
        rows = text.sample(separator)
        split = 0 if separator is None else sum(len(row) > 1 for row in rows)
        # Rows that all have as many columns as the header are a table, whatever the number of columns.
        table = bool(rows) and _is_header(rows[0], rows[1:], separator, fields) and len(rows[0]) > 1
        edges = sum(len(row) == len(rows[0]) for row in rows) if table else sum(map(_is_edge, rows))
        return edges, table, split

    return max((*SEPARATORS, None), key=fit)


def _is_edge(row: list[bytes]) -> bool:
    """Whether the fields of a line could be an edge."""
    return 2 <= len(row) <= 3 and all(row) and (len(row) == 2 or _weight(row[2]) is not None)


def _weight(field: bytes) -> float | None:
    """The weight; None if it isn't a finite number ≥ 0."""
    try:
        weight = float(field)
    except ValueError:
        return None
    return weight if isfinite(weight) and weight >= 0 else None


def _is_header(first: list[bytes], others: list[list[bytes]], separator: bytes | None, fields: Fields) -> bool:
    """Whether the first line names the columns.

    It does if it has the names that the user chose, or well-known ones that aren't vertices in the further lines. In a
    file with tabs, commas or semicolons it also does if it has words and all further lines have integers: a single
    vertex with a word as its name is unlikely.
    """
    words = [field.decode() for field in first]
    if not {fields.source, fields.target, fields.weight}.isdisjoint(words):
        return True
    if known_header(words):
        return _vertex_in(first, others) is None
    ends = [field.decode() for row in others for field in row[:2]]
    above_integers = bool(ends) and all(map(is_integer, ends)) and not any(map(_is_number, first))
    return separator is not None and above_integers and len(first) >= 2


def _vertex_in(first: list[bytes], others: list[list[bytes]]) -> bytes | None:
    """A vertex of the first line, if it could be an edge, that the further lines mention too."""
    if not _is_edge(first):
        return None
    vertices = {field for row in others for field in row[:2]}
    return next((name for name in first[:2] if name in vertices), None)


def _header(text: Text, separator: bytes | None, fields: Fields) -> tuple[int, EdgeColumns | None, tuple[str, ...]]:
    """The line number of the header (0 if there is none), the columns to read, and notes."""
    number, first = next(text.rows(separator), (0, []))
    words = [field.decode() for field in first]
    others = text.sample(separator)[1:]
    shown = (separator or b" ").join(first).decode()
    if not first or not _is_header(first, others, separator, fields):
        if fields.named or fields.weight is not None:
            chosen = fields.source or fields.target or fields.weight
            raise text.error(number or 1, f"no header with a column {chosen!r}; the line is {' '.join(words)[:60]!r}")
        vertex = _vertex_in(first, others) if known_header(words) else None
        if vertex is None:
            return 0, None, ()
        return 0, None, (f"the first line '{shown}' is an edge: {vertex.decode()!r} is a vertex in other lines too",)
    columns = choose_columns(words, fields, f"{text.path}, line {number}")
    notes = (f"the header '{shown}' was skipped",)
    return number, columns, notes if columns.note is None else (*notes, columns.note)


def _is_number(field: bytes) -> bool:
    """Whether the field is a number of any kind."""
    try:
        float(field)
    except ValueError:
        return False
    return True


def _body(text: Text, header: int) -> bytes:
    """The text after its header and the comments at its beginning."""
    start = sum(map(len, islice(io.BytesIO(text.data), header)))
    return _LEADING_COMMENTS.sub(b"", text.data[start:], count=1)


def _skipped(body: bytes, separator: bytes | None, text: Text) -> tuple[str, ...]:
    """A note about comments between the edges that have as many columns: the name of a vertex may begin with # or %."""
    if b"#" not in body and b"%" not in body:
        return ()
    first = next(text.rows(separator), (0, []))[1]
    count = sum(len(split_line(line.strip(), separator)) == len(first) for line in _COMMENT.findall(body))
    if not count:
        return ()
    lines = counted(count, "comment line", "comment lines")
    return (f"{lines} skipped after the first edge, with as many columns; a line of an edge can't begin with # or %",)


def _read_integers(body: bytes, separator: bytes | None, notes: tuple[str, ...]) -> Graph | None:
    """Read the whole file as one table if it consists of plain integers; None if it doesn't."""
    other_bytes = body.translate(None, b"0123456789 \t\n" + (separator or b""))
    # 007 and 7 are different names, but the same integer.
    if other_bytes or not body.strip() or _LEADING_ZERO.search(body):
        return None
    delimiter = None if separator is None else separator.decode()
    try:
        table: NDArray[np.int64] = np.loadtxt(io.BytesIO(body), np.int64, comments=None, delimiter=delimiter, ndmin=2)
    except ValueError:
        return None
    if table.shape[1] not in (2, 3):
        return None
    names, ids = number_nodes(table[:, :2])
    weights = table[:, 2].astype(np.float64) if table.shape[1] == 3 else None
    return from_edges(ids[:, 0], ids[:, 1], names, weights=weights, notes=notes)


def _read_carefully(
    text: Text, separator: bytes | None, header: int, columns: EdgeColumns | None, notes: tuple[str, ...]
) -> Graph:
    """Read line by line: any names and weights, and errors with line numbers."""
    ids: dict[bytes, int] = {}
    source, target = array("q"), array("q")
    weights = array("d")
    width = 0
    for number, row in text.rows(separator):
        if number == header:
            width = len(row)
            continue
        one, other, weight = _edge(text, number, row) if columns is None else _cells(text, number, row, columns, width)
        weights.append(weight)
        source.append(ids.setdefault(one, len(ids)))
        target.append(ids.setdefault(other, len(ids)))
    if not ids:
        raise text.error(1, f"the file has no edges; {_EXPECTED} on each line")
    names = parse_names([name.decode() for name in ids], str(text.path))
    ends = np.frombuffer(source, np.int64), np.frombuffer(target, np.int64)
    return from_edges(*ends, names, weights=np.frombuffer(weights, np.float64), notes=notes)


def _edge(text: Text, number: int, row: list[bytes]) -> tuple[bytes, bytes, float]:
    """The two vertices and the weight of a line without a header, or an error that says what is wrong with it."""
    if not 2 <= len(row) <= 3:
        hint = "fix or remove the line"
        if len(row) > 3 and number < 3:
            hint = "an adjacency list needs --format adjlist, a table needs a header with the columns source and target"
        raise text.error(number, f"{_EXPECTED}, found {_columns(row)}; {hint}")
    return _checked(text, number, row[0], row[1], row[2] if len(row) == 3 else None)


def _cells(text: Text, number: int, row: list[bytes], columns: EdgeColumns, width: int) -> tuple[bytes, bytes, float]:
    """The two vertices and the weight of a line of a table."""
    if len(row) != width:
        raise text.error(number, f"expected {width} columns as in the header, found {_columns(row)}; fix the line")
    weight = None if columns.weight is None else row[columns.weight]
    return _checked(text, number, row[columns.source], row[columns.target], weight)


def _checked(text: Text, number: int, one: bytes, other: bytes, weight: bytes | None) -> tuple[bytes, bytes, float]:
    if not (one and other):
        raise text.error(number, f"{_EXPECTED}, found an empty vertex name; fix or remove the line")
    value = 1.0 if weight is None else _weight(weight)
    if value is None:
        shown = (weight or b"").decode()
        raise text.error(number, f"the weight {shown!r} isn't a finite number ≥ 0; fix it or drop the column")
    return one, other, value


def _columns(row: list[bytes]) -> str:
    """A malformed line, shortened for a message."""
    shown = b" ".join(row).decode()
    return f"{len(row)} column{'s' if len(row) > 1 else ''} ({shown[:60]!r})"
