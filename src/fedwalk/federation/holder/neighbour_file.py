"""Reads and writes a holder's neighbour file: a line `device neighbour neighbour …` for each device.

The text rules are those of adjacency lists (`fedwalk.graph.formats.adjlist`), with one difference: a line is about its
own device alone. Whether the neighbours name the device too is up to their own holders.
"""

from collections.abc import Iterable
from os import PathLike
from pathlib import Path

from fedwalk.errors import InputError
from fedwalk.federation.holder.neighbour_lists import NamedNeighbours
from fedwalk.graph import Graph
from fedwalk.graph.text import Text, list_separator, read_text
from fedwalk.util.files import write_private


def read_neighbours(path: str | PathLike[str]) -> NamedNeighbours:
    """Read a neighbour file. A device among its own neighbours, and repeated neighbours, are dropped.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "neighbours.txt")
    >>> _ = path.write_text("# mine\\nann bob ann bob\\neve\\n")
    >>> read_neighbours(path)
    NamedNeighbours(devices=('ann', 'eve'), neighbours=(('bob',), ()))
    """
    return _parse(read_text(path))


def save_neighbours(path: str | PathLike[str], neighbours: NamedNeighbours) -> None:
    """Write a file that `read_neighbours` reads, readable only by its owner."""
    place = Path(path)
    text = "".join("\t".join((device, *names)) + "\n" for device, names in neighbours)
    # A name with a leading '#' or a line break, for example, would be read back as something else.
    if not _reads_back(text, neighbours):
        raise InputError(f"{place}: a text file can't represent some of these names; rename the vertices")
    write_private(place, text.encode())


def neighbours_of(graph: Graph, vertices: Iterable[int]) -> NamedNeighbours:
    """The neighbour lists of these vertices of a graph; weights are left out.

    >>> from fedwalk.graph import load_graph
    >>> neighbours_of(load_graph([(10, 20), (20, 30)]), [1])
    NamedNeighbours(devices=('20',), neighbours=(('10', '30'),))
    """
    names, own = [str(name) for name in graph.names.tolist()], list(vertices)
    neighbours = (tuple(names[u] for u in graph.neighbours(v).tolist()) for v in own)
    return NamedNeighbours(tuple(names[v] for v in own), tuple(neighbours))


def _reads_back(text: str, neighbours: NamedNeighbours) -> bool:
    try:
        # Invisible characters are refused even where they read back: the federation doesn't admit such names.
        plain = all(name.isprintable() for device, names in neighbours for name in (device, *names))
        return plain and _parse(Text(Path(), text.encode())) == neighbours
    except InputError:
        return False


def _parse(text: Text) -> NamedNeighbours:
    # The line of each device, in the order of the file; the result has the same order.
    lines: dict[str, int] = {}
    neighbours = []
    known: dict[bytes, str] = {}
    for number, fields in text.rows(list_separator(text)):
        if not all(fields):
            raise text.error(number, "an empty name; fix the line or remove the extra separator")
        # One string object per name, however often the file mentions it: this saves memory for large files.
        device, *names = (known.setdefault(field, field.decode()) for field in fields)
        if device in lines:
            raise text.error(
                number, f"device {device!r} is already on line {lines[device]}; put all its neighbours on one line"
            )
        lines[device] = number
        neighbours.append(tuple(name for name in dict.fromkeys(names) if name != device))
    if not lines:
        raise text.error(1, "the file has no devices; expected 'device neighbour neighbour …' on each line")
    return NamedNeighbours(tuple(lines), tuple(neighbours))
