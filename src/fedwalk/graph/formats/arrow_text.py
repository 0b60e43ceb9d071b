"""Read a table of edges from text with pyarrow, if it is installed: several times faster than line by line.

Vertices are read as text unless the file has plain integers alone, so that `07` and `7` stay different. What pyarrow
could understand differently than the careful reader (a comment, an empty or padded name, a line with other columns)
makes this one give up.
"""

import io
import re
from typing import Any

import numpy as np

from fedwalk.graph.adapters.tables import number_text
from fedwalk.graph.build import from_edges
from fedwalk.graph.fields import EdgeColumns
from fedwalk.graph.graph import Graph
from fedwalk.graph.names import number_nodes, parse_names

_MIN_BYTES = 1 << 20
"""Below this size, importing pyarrow takes longer than reading."""

_LEADING_ZERO = re.compile(rb"(?:\A|[\n\t,;])0[0-9]")


def read_with_arrow(
    body: bytes, separator: bytes, columns: EdgeColumns | None, notes: tuple[str, ...], origin: str
) -> Graph | None:
    """The graph of a table without its header, or None if the careful reader must read it."""
    if len(body) < _MIN_BYTES or body.startswith((b"#", b"%")) or b"\n#" in body or b"\n%" in body:
        return None
    width = len(body[: body.find(b"\n")].split(separator))
    if columns is None:
        columns = EdgeColumns(0, 1, 2 if width == 3 else None)
        if width not in (2, 3):
            return None
    plain = not body.translate(None, b"0123456789\n" + separator) and not _LEADING_ZERO.search(body)
    table = _parse(body, separator, columns, plain)
    lines = body.count(b"\n") + (not body.endswith(b"\n"))
    if table is None or table.num_rows != lines or any(column.null_count for column in table.columns):
        return None
    weights = None if columns.weight is None else table.column(2).to_numpy()
    if weights is not None and not np.all(np.isfinite(weights) & (weights >= 0)):
        return None
    one, other = table.column(0), table.column(1)
    if plain:
        integers, ids = number_nodes(np.column_stack((one.to_numpy(), other.to_numpy())))
        return from_edges(ids[:, 0], ids[:, 1], integers, weights=weights, notes=notes)
    names, ids = number_text(one, other)
    if any(not name or name != name.strip() for name in names):
        return None
    return from_edges(ids[:, 0], ids[:, 1], parse_names(names, origin), weights=weights, notes=notes)


def _parse(body: bytes, separator: bytes, columns: EdgeColumns, plain: bool) -> Any:
    """The chosen columns as an Arrow table; None if pyarrow is missing or can't read them."""
    try:
        import pyarrow as pa
        from pyarrow import csv
    except ImportError:
        return None
    vertices = pa.int64() if plain else pa.string()
    types = {f"f{columns.source}": vertices, f"f{columns.target}": vertices}
    if columns.weight is not None:
        types[f"f{columns.weight}"] = pa.float64()
    try:
        return csv.read_csv(
            io.BytesIO(body),
            read_options=csv.ReadOptions(autogenerate_column_names=True),
            parse_options=csv.ParseOptions(
                delimiter=separator.decode(), quote_char=False if separator == b"\t" else '"'
            ),
            convert_options=csv.ConvertOptions(include_columns=list(types), column_types=types),
        )
    except (pa.ArrowInvalid, pa.ArrowKeyError):
        return None
