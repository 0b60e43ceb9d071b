"""Reader for Matrix Market files (`.mtx`) of a square adjacency matrix, as SuiteSparse and Network Repository have.

Not with `scipy.io.mmread`: on some damaged files it crashes the whole process.
"""

import io
import re

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fedwalk.errors import InputError
from fedwalk.graph.adapters.matrices import brief, from_matrix
from fedwalk.graph.build import MAX_VERTICES
from fedwalk.graph.fields import Fields
from fedwalk.graph.graph import Graph
from fedwalk.graph.sources import Content
from fedwalk.graph.text import Text, text_of

_HEADER = re.compile(rb"%%MatrixMarket[ \t]+matrix[ \t]+(\w+)[ \t]+(\w+)[ \t]+([\w-]+)[ \t]*\n", re.I)
_SIZES = re.compile(rb"(?:[ \t]*(?:%[^\n]*)?\n)*[ \t]*(\d{1,18})[ \t]+(\d{1,18})[ \t]+(\d{1,18})[ \t]*(?:\n|\Z)")


def read_mtx(content: Content, fields: Fields) -> Graph:
    """Read the matrix; its rows are the vertices 0 … n−1, although the file counts them from 1.

    >>> from pathlib import Path
    >>> text = b"%%MatrixMarket matrix coordinate pattern symmetric\\n3 3 2\\n2 1\\n3 2\\n"
    >>> read_mtx(Content(Path("path.mtx"), text), Fields())
    Graph(3 vertices, 2 edges)
    """
    text = text_of(content)
    header = _HEADER.match(text.data)
    if header is None:
        raise text.error(1, "expected a header '%%MatrixMarket matrix coordinate real symmetric' or similar")
    layout, kind, symmetry = (word.decode().lower() for word in header.groups())
    if layout != "coordinate" or kind not in ("real", "integer", "pattern") or symmetry not in ("general", "symmetric"):
        raise text.error(
            1, f"a matrix '{layout} {kind} {symmetry}' can't be read; expected 'coordinate', real, integer or pattern, "
            "general or symmetric. Read it with scipy.io.mmread and give the matrix to fedwalk.load_graph",
        )  # fmt: skip
    sizes = _SIZES.match(text.data, header.end())
    if sizes is None:
        raise text.error(2, "expected a line 'rows columns entries' after the comments")
    rows, columns, count = map(int, sizes.groups())
    if rows != columns or rows > MAX_VERTICES:
        raise text.error(
            text.data.count(b"\n", 0, sizes.start(1)) + 1,
            f"a matrix of {rows} × {columns} is no adjacency matrix, which is square; is it bipartite? Read it with "
            "scipy.io.mmread and give the edges between its rows and columns names of their own",
        )
    entries = _entries(text, sizes.end(), 2 if kind == "pattern" else 3, count, rows)
    places = entries[:, :2].astype(np.int64) - 1
    data = np.ones(count) if kind == "pattern" else entries[:, 2]
    if symmetry == "symmetric":
        other = places[:, 0] != places[:, 1]
        places, data = np.concatenate((places, places[other][:, ::-1])), np.concatenate((data, data[other]))
    return from_matrix(sparse.coo_array((data, (places[:, 0], places[:, 1])), shape=(rows, rows)), str(text.path))


def _entries(text: Text, start: int, width: int, count: int, n: int) -> NDArray[np.float64]:
    """The lines after the sizes: row, column and, unless the matrix is a pattern, the value."""
    body = text.data[start:]
    if not body.strip():
        table = np.empty((0, width))
    else:
        try:
            table = np.loadtxt(io.BytesIO(body), np.float64, comments="%", ndmin=2)
        except ValueError as error:
            problem = f"not a readable Matrix Market file ({brief(error)}); write it again"
            raise InputError(f"{text.path}: {problem}") from error
    if table.shape != (count, width):
        raise InputError(
            f"{text.path}: the header announces {count:,} entries of {width} numbers, but there are {len(table):,} of "
            f"{table.shape[1]}; write the file again"
        )
    places = table[:, :2]
    wrong = np.flatnonzero(~((places >= 1) & (places <= n) & (places == np.floor(places))).all(axis=1))
    if wrong.size:
        row = ", ".join(f"{value:g}" for value in places[wrong[0]])
        raise InputError(f"{text.path}: entry {wrong[0] + 1} is at ({row}), outside a matrix of {n} × {n}; fix it")
    return table
