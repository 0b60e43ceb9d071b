"""Readers for tables of edges in memory: pandas and polars data frames, and Arrow tables."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import InputError
from fedwalk.graph.adapters.sequences import check_node
from fedwalk.graph.build import from_edges
from fedwalk.graph.fields import EdgeColumns, Fields, choose_columns
from fedwalk.graph.graph import Graph
from fedwalk.graph.names import name_nodes, number_nodes


def from_frame(source: Any, fields: Fields) -> Graph:
    """Read a pandas or polars data frame with one edge per row."""
    if hasattr(source, "collect"):
        raise InputError("can't read a lazy frame; call its collect() first")
    if not hasattr(source, "columns"):
        raise InputError(f"can't read a graph from a {type(source).__name__}; give a data frame with one edge per row")
    names = [str(name) for name in source.columns]
    columns = choose_columns(names, fields, "data frame")
    one, other = (_values(source, names, place) for place in (columns.source, columns.target))
    weights = None if columns.weight is None else _values(source, names, columns.weight)
    named = "" if columns.weight is None else f"data frame: the column {names[columns.weight]!r}"
    return from_columns(one, other, _numbers(weights, named), columns)


def from_arrow_table(source: Any, fields: Fields) -> Graph:
    """Read a `pyarrow.Table`."""
    if not hasattr(source, "select"):
        raise InputError(f"can't read a graph from a pyarrow {type(source).__name__}; give a pyarrow.Table")
    return from_arrow(source.column_names, lambda chosen: source.select(chosen), fields, "table")


def from_arrow(names: Sequence[str], select: Callable[[list[str]], Any], fields: Fields, origin: str) -> Graph:
    """A graph from an Arrow table, of which only the chosen columns are read."""
    import pyarrow as pa

    columns = choose_columns(names, fields, origin)
    places = [columns.source, columns.target, *([] if columns.weight is None else [columns.weight])]
    table = select([names[place] for place in places])
    one, other, *rest = (table.column(names[place]) for place in places)
    weights = _numbers(rest[0].to_numpy() if rest else None, f"{origin}: the column {names[places[-1]]!r}")
    for place, column in zip(places, (one, other), strict=False):
        if column.null_count:
            row = column.is_null().to_pylist().index(True)
            raise InputError(f"{origin}: row {row} has no {names[place]!r}; remove the row")
    text = (pa.string(), pa.large_string())
    if one.type in text and one.type == other.type and table.num_rows:
        called, ids = number_text(one, other)
        notes = () if columns.note is None else (columns.note,)
        return from_edges(ids[:, 0], ids[:, 1], name_nodes(called, origin)[0], weights=weights, notes=notes)
    return from_columns(_plain(one), _plain(other), weights, columns, origin)


def from_columns(
    one: NDArray[Any],
    other: NDArray[Any],
    weights: NDArray[Any] | None,
    columns: EdgeColumns,
    origin: str = "data frame",
) -> Graph:
    """A graph from the two columns of vertices."""
    notes = () if columns.note is None else (columns.note,)
    if not len(one):
        raise InputError(f"{origin}: it has no rows, so the graph has no vertices")
    if np.can_cast(one.dtype, np.int64) and np.can_cast(other.dtype, np.int64) and "b" not in one.dtype.kind:
        names, ids = number_nodes(np.column_stack((one.astype(np.int64), other.astype(np.int64))))
        return from_edges(ids[:, 0], ids[:, 1], names, weights=weights, notes=notes)
    for column in (one, other):
        if column.dtype.kind == "f":
            raise InputError(f"{origin}: vertices of type {column.dtype}; drop the rows without one, then .astype(int)")
    numbers: dict[Any, int] = {}
    ends = np.empty((len(one), 2), np.int64)
    for place, values in enumerate((one.tolist(), other.tolist())):
        for row, node in enumerate(values):
            check_node(node, f"{origin}, row {row}")
        ends[:, place] = [numbers.setdefault(node, len(numbers)) for node in values]
    nodes = list(numbers)
    order, ids = number_nodes(ends)
    called, kept = name_nodes([nodes[number] for number in order.tolist()], origin)
    return from_edges(ids[:, 0], ids[:, 1], called, nodes=kept, weights=weights, notes=notes)


def number_text(source: Any, target: Any) -> tuple[list[str], NDArray[np.int64]]:
    """The distinct values of two Arrow columns of text, in the order of their first appearance, and their numbers."""
    import pyarrow as pa

    column = pa.chunked_array([*source.chunks, *target.chunks], source.type)
    # All chunks share one dictionary; to combine them would merge it with itself once per chunk.
    encoded = column.dictionary_encode()
    codes = np.concatenate([chunk.indices.to_numpy(zero_copy_only=False) for chunk in encoded.chunks])
    codes = codes.astype(np.int64).reshape(2, -1).T
    order, ids = number_nodes(codes)
    texts = encoded.chunk(0).dictionary.to_pylist()
    return [texts[code] for code in order.tolist()], ids


def _values(frame: Any, names: list[str], place: int) -> NDArray[Any]:
    """A column of a data frame, as an array of numbers or of objects."""
    series = frame.iloc[:, place] if hasattr(frame, "iloc") else frame.to_series(place)
    missing = series.isna() if hasattr(series, "isna") else series.is_null()
    if missing.any():
        raise InputError(f"data frame, row {missing.to_list().index(True)}: no {names[place]!r}; remove the row")
    values = np.asarray(series.to_numpy())
    return values if values.dtype.kind in "iufb" else np.array([*series.to_list(), None], object)[:-1]


def _plain(column: Any) -> NDArray[Any]:
    """An Arrow column as an array of integers or of objects."""
    values = np.asarray(column.to_numpy())
    return values if values.dtype.kind in "iufb" else np.array([*column.to_pylist(), None], object)[:-1]


def _numbers(weights: NDArray[Any] | None, column: str) -> NDArray[Any] | None:
    """The weights, if they are numbers; otherwise the error begins with `column`."""
    if weights is None or weights.dtype.kind in "iufb":
        return weights
    try:
        return weights.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"{column} is read as the weight, but has values that aren't numbers ({weights.dtype}); convert them, "
            "choose another column with --weight (in Python: weight=…), or rename or drop this one"
        ) from None
