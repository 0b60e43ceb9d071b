"""Readers for GraphML and GML, which networkx parses; their node attributes can be labels."""

import io
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from fedwalk.errors import InputError
from fedwalk.graph.adapters.matrices import brief
from fedwalk.graph.adapters.networkx import from_networkx
from fedwalk.graph.fields import Fields
from fedwalk.graph.graph import Graph
from fedwalk.graph.names import is_integer
from fedwalk.graph.sources import Content
from fedwalk.util.extras import install_hint


def read_graphml(content: Content, fields: Fields) -> Graph:
    """Read a GraphML file. Its node ids are text; they become integers if all of them are."""

    def parse(networkx: Any) -> Any:
        return networkx.read_graphml(io.BytesIO(content.data))

    return _read(content, fields, "GraphML", parse)


def read_gml(content: Content, fields: Fields) -> Graph:
    """Read a GML file. Its nodes are named by `label`, or by `id` if they have no label."""

    def parse(networkx: Any) -> Any:
        try:
            return networkx.read_gml(io.BytesIO(content.data))
        except networkx.NetworkXError as error:
            if str(error).startswith("node label") and "duplicated" in str(error):
                raise InputError(
                    f"{content.path}: {error}; give every node a label of its own, or remove all labels, so that the "
                    "nodes are named by their ids"
                ) from None
            if "no 'label' attribute" not in str(error):
                raise
            return networkx.read_gml(io.BytesIO(content.data), label="id")

    return _read(content, fields, "GML", parse)


def _read(content: Content, fields: Fields, name: str, parse: Callable[[Any], Any]) -> Graph:
    try:
        import networkx
    except ImportError:
        raise InputError(f"{content.path}: reading {name} needs networkx: {install_hint('formats')}") from None
    try:
        parsed = parse(networkx)
    except InputError:
        raise
    # The parsers raise their own errors, those of the XML library and, for damaged files, KeyError and others.
    except Exception as error:
        raise InputError(f"{content.path}: not a readable {name} file ({brief(error)}); write it again") from error
    if len(parsed) and all(isinstance(node, str) and is_integer(node) for node in parsed):
        parsed = networkx.relabel_nodes(parsed, int)
    graph = from_networkx(parsed, fields, str(content.path))
    return replace(graph, notes=(*_ignored(parsed, fields), *graph.notes))


def _ignored(parsed: Any, fields: Fields) -> tuple[str, ...]:
    """A note about edge attributes that may be meant as weights."""
    seen = {str(key) for *_, attributes in parsed.edges(data=True) for key in attributes}
    others = sorted(seen - {fields.weight or "weight", "id", "label", "key"})
    if not others:
        return ()
    return (f"the edge attributes {', '.join(map(repr, others[:5]))} were ignored; --weight makes one the weight",)
