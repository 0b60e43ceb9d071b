"""Reader for Parquet files: one row for each edge, and the columns of the two vertices and the weight."""

import io

from fedwalk.errors import InputError
from fedwalk.graph.adapters.matrices import brief
from fedwalk.graph.adapters.tables import from_arrow
from fedwalk.graph.fields import Fields
from fedwalk.graph.graph import Graph
from fedwalk.graph.sources import Content
from fedwalk.util.extras import install_hint


def read_parquet(content: Content, fields: Fields) -> Graph:
    """Read the columns of the edges; the other columns aren't even unpacked."""
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise InputError(f"{content.path}: reading Parquet needs pyarrow: {install_hint('formats')}") from None
    try:
        file = parquet.ParquetFile(io.BytesIO(content.data))
        return from_arrow(file.schema_arrow.names, lambda chosen: file.read(columns=chosen), fields, str(content.path))
    except (ArrowException, OSError) as error:
        raise InputError(f"{content.path}: not a readable Parquet file ({brief(error)}); write it again") from error
