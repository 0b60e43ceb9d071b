"""The formats of graph files.

To add one, write a function from a file's content to a `Graph` in a module of its own, and register it in FORMATS; its
suffixes belong into `fedwalk.graph.formats.recognise`, and so does what its files begin with.
"""

from collections.abc import Callable

from fedwalk.errors import InputError
from fedwalk.graph.fields import Fields
from fedwalk.graph.formats.adjlist import read_adjlist
from fedwalk.graph.formats.edgelist import read_edgelist
from fedwalk.graph.formats.markup import read_gml, read_graphml
from fedwalk.graph.formats.mat import read_mat
from fedwalk.graph.formats.mtx import read_mtx
from fedwalk.graph.formats.nodelink import read_nodelink
from fedwalk.graph.formats.npz import read_npz
from fedwalk.graph.formats.parquet import read_parquet
from fedwalk.graph.formats.recognise import recognise
from fedwalk.graph.graph import Graph
from fedwalk.graph.sources import Content

FORMATS: dict[str, Callable[[Content, Fields], Graph]] = {
    "edgelist": read_edgelist,
    "csv": read_edgelist,
    "adjlist": read_adjlist,
    "parquet": read_parquet,
    "graphml": read_graphml,
    "gml": read_gml,
    "nodelink": read_nodelink,
    "mtx": read_mtx,
    "mat": read_mat,
    "npz": read_npz,
}

WITH_COLUMNS = ("edgelist", "csv", "parquet")
"""Formats that are tables of edges."""
WITH_ATTRIBUTES = ("graphml", "gml", "nodelink")
"""Formats in which nodes and edges have attributes."""


def check_format(chosen: str | None) -> None:
    """Raise InputError unless the format is known or left open."""
    if chosen is not None and chosen not in FORMATS:
        raise InputError(f"unknown graph format {chosen!r}; the formats are {', '.join(FORMATS)}")


def read_graph(content: Content, chosen: str | None, fields: Fields) -> Graph:
    """Read a file in the chosen format or, if none is given, in the one of its suffix and content."""
    check_format(chosen)
    name = chosen or recognise(content)
    _check_fields(name, fields, content)
    return FORMATS[name](content, fields)


def _check_fields(name: str, fields: Fields, content: Content) -> None:
    """Raise InputError for a choice that this format can't follow."""
    if fields.named and name not in WITH_COLUMNS:
        raise InputError(f"{content.path}: --source and --target name columns of a table, but the file is {name}")
    if fields.weight is not None and name not in (*WITH_COLUMNS, *WITH_ATTRIBUTES):
        raise InputError(f"{content.path}: --weight names a column or an edge attribute, but {name} has neither")
    if fields.label is not None and name not in WITH_ATTRIBUTES:
        raise InputError(
            f"{content.path}: labels from the attribute {fields.label!r}, but {name} has no node attributes (the "
            f"formats {', '.join(WITH_ATTRIBUTES)} have); give a label file instead"
        )
