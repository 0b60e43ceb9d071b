"""Read a table of edges from text with pyarrow, if it is installed: several times faster than line by line.

Vertices are read as text, so that `07` and `7` stay different. Whatever pyarrow could understand differently than the
careful reader (a comment, an empty or padded name, a line with other columns) makes this one give up.
"""

import io

import numpy as np

from fedwalk.graph.adapters.tables import number_text
from fedwalk.graph.build import from_edges
from fedwalk.graph.fields import EdgeColumns
from fedwalk.graph.graph import Graph
from fedwalk.graph.names import parse_names

_MIN_BYTES = 1 << 20
"""Below this size, importing pyarrow takes longer than reading."""


def read_with_arrow(
    body: bytes, separator: bytes, columns: EdgeColumns | None, notes: tuple[str, ...], origin: str
) -> Graph | None:
    """The graph of a table without its header, or None if the careful reader must read it."""
    if len(body) < _MIN_BYTES or body.startswith((b"#", b"%")) or b"\n#" in body or b"\n%" in body:
        return None
    try:
        import pyarrow as pa
        from pyarrow import compute, csv
    except ImportError:
        return None
    width = len(body[: body.find(b"\n")].split(separator))
    if columns is None:
        columns = EdgeColumns(0, 1, 2 if width == 3 else None)
        if width not in (2, 3):
            return None
    wanted = [columns.source, columns.target, *([] if columns.weight is None else [columns.weight])]
    try:
        table = csv.read_csv(
            io.BytesIO(body),
            read_options=csv.ReadOptions(autogenerate_column_names=True),
            parse_options=csv.ParseOptions(
                delimiter=separator.decode(), quote_char=False if separator == b"\t" else '"'
            ),
            convert_options=csv.ConvertOptions(
                include_columns=[f"f{place}" for place in wanted],
                column_types={f"f{place}": pa.string() for place in wanted},
            ),
        )
        weights = None if len(wanted) == 2 else compute.cast(table.column(2), pa.float64()).to_numpy()
    except (pa.ArrowInvalid, pa.ArrowKeyError):
        return None
    lines = body.count(b"\n") + (not body.endswith(b"\n"))
    if table.num_rows != lines or (weights is not None and not np.all(np.isfinite(weights) & (weights >= 0))):
        return None
    names, ids = number_text(table.column(0), table.column(1))
    if any(not name or name != name.strip() for name in names):
        return None
    return from_edges(ids[:, 0], ids[:, 1], parse_names(names, origin), weights=weights, notes=notes)
