"""Edge lists as `networkx.write_edgelist` writes them: `0 5 {}`, or `0 5 {'weight': 2.0}` with an edge's attributes."""

import ast
import re
import sys
from array import array
from itertools import islice
from typing import Any

import numpy as np

from fedwalk.errors import InputError
from fedwalk.graph.build import from_edges
from fedwalk.graph.fields import Fields
from fedwalk.graph.graph import Graph
from fedwalk.graph.names import parse_names
from fedwalk.graph.text import SAMPLE, Text


def is_networkx_text(text: Text) -> bool:
    """Whether each of the first lines ends with a dictionary."""
    lines = [b" ".join(row) for _, row in islice(text.rows(None), SAMPLE)]
    return bool(lines) and all(_split(line) for line in lines)


def _split(line: bytes) -> tuple[bytes, bytes] | None:
    """The two vertices and the dictionary of a line; None unless white space, a comma or a semicolon is between them.

    Not with a regular expression, which would try every comma of a long line as the beginning of the separator.
    """
    if not line.endswith(b"}") or b"{" not in line:
        return None
    before, brace, after = line.partition(b"{")
    vertices = before.rstrip()
    if vertices == before:
        if not before.endswith((b",", b";")):
            return None
        vertices = before[:-1].rstrip()
    return (vertices, brace + after) if vertices else None


def read_networkx_text(text: Text, fields: Fields) -> Graph:
    """Read the edges; the weight is the attribute `weight`, or the one that the user chose."""
    if fields.named:
        raise InputError(
            f"{text.path}: --source and --target name columns of a table, but the file is an edge list of networkx "
            "('vertex vertex {attributes}'); leave them out"
        )
    ids: dict[bytes, int] = {}
    ends, weights = array("q"), array("d")
    attributes = _Attributes(fields.weight or "weight")
    for number, row in text.rows(None):
        line = _split(b" ".join(row))
        names = [] if line is None else re.split(rb"[,;]", line[0]) if re.search(rb"[,;]", line[0]) else line[0].split()
        if line is None or len(names) != 2 or not all(map(bytes.strip, names)):
            shown = b" ".join(row).decode()[:60]
            raise text.error(
                number, f"expected 'vertex vertex {{attributes}}', found {shown!r}; fix or remove the line"
            )
        ends.extend(ids.setdefault(name.strip(), len(ids)) for name in names)
        try:
            weights.append(attributes.weight(line[1]))
        except InputError as error:
            raise text.error(number, str(error)) from None
    if fields.weight is not None and fields.weight not in attributes.seen:
        listed = ", ".join(map(repr, sorted(attributes.seen))) or "none"
        raise InputError(f"{text.path}: no edge has the attribute {fields.weight!r}; the attributes are: {listed}")
    pairs = np.frombuffer(ends, np.int64).reshape(-1, 2)
    return from_edges(
        pairs[:, 0], pairs[:, 1], parse_names([name.decode() for name in ids], str(text.path)),
        weights=np.frombuffer(weights, np.float64), notes=attributes.notes(),
    )  # fmt: skip


class _Attributes:
    """Reads the dictionaries of attributes; most of them occur often, and are parsed once."""

    def __init__(self, weight: str) -> None:
        self.name = weight
        self.seen: set[str] = set()
        self._weights: dict[bytes, float] = {}

    def weight(self, literal: bytes) -> float:
        """The weight in a dictionary; 1 if it has none."""
        if literal not in self._weights:
            self._weights[literal] = self._parse(literal)
        return self._weights[literal]

    def notes(self) -> tuple[str, ...]:
        """What was ignored."""
        others = sorted(self.seen - {self.name})
        return (f"the edge attributes {', '.join(map(repr, others))} were ignored",) if others else ()

    def _parse(self, literal: bytes) -> float:
        try:
            attributes: Any = ast.literal_eval(literal.decode())
        # TypeError: a key that can't be hashed.
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            attributes = None
        if not isinstance(attributes, dict):
            raise InputError(f"{literal.decode()[:60]!r} isn't a dictionary of attributes; fix or remove the line")
        self.seen |= set(map(str, attributes))
        value = attributes.get(self.name, 1)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= sys.float_info.max:
            raise InputError(f"the weight {value!r:.60} isn't a finite number ≥ 0; fix it or remove the attribute")
        return float(value)
