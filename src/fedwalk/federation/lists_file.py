"""The holder's own file: a line `device neighbour neighbour …` for each device, read where it lies.

The text rules are those of adjacency lists (`fedwalk.graph.adjlist`). A line speaks for its own device alone: that its
neighbours would name it too is for their holders to say.
"""

from collections.abc import Iterable
from os import PathLike
from pathlib import Path

from fedwalk.errors import InputError
from fedwalk.federation.lists import NamedLists
from fedwalk.federation.private_file import write_private
from fedwalk.graph import Graph
from fedwalk.graph.text import Text, existing_file, list_separator, read_text


def read_lists(path: str | PathLike[str]) -> NamedLists:
    """Read a holder's file; a device itself and repeats among its neighbours are dropped.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "lists.txt")
    >>> _ = path.write_text("# mine\\nann bob ann bob\\neve\\n")
    >>> read_lists(path)
    NamedLists(devices=('ann', 'eve'), neighbours=(('bob',), ()))
    """
    return _parse(read_text(existing_file(path)))


def save_lists(path: str | PathLike[str], lists: NamedLists) -> None:
    """Write a file that `read_lists` reads, for its owner's eyes only."""
    place = Path(path)
    text = "".join("\t".join((device, *names)) + "\n" for device, names in lists)
    # A leading '#' or a line break in a name, for example: better no file than one that says something else.
    if not _reads_back(text, lists):
        raise InputError(f"{place}: these names can't be told apart in a text file; rename the vertices")
    write_private(place, text.encode())


def lists_of(graph: Graph, vertices: Iterable[int]) -> NamedLists:
    """What a holder of these vertices of a graph would know.

    >>> from fedwalk.graph import load_graph
    >>> lists_of(load_graph([(10, 20), (20, 30)]), [1])
    NamedLists(devices=('20',), neighbours=(('10', '30'),))
    """
    names, own = [str(name) for name in graph.names.tolist()], list(vertices)
    neighbours = (tuple(names[u] for u in graph.neighbours(v).tolist()) for v in own)
    return NamedLists(tuple(names[v] for v in own), tuple(neighbours))


def _reads_back(text: str, lists: NamedLists) -> bool:
    try:
        plain = all(name.isprintable() for device, names in lists for name in (device, *names))
        return plain and _parse(Text(Path(), text.encode())) == lists
    except InputError:
        return False


def _parse(text: Text) -> NamedLists:
    lines: dict[str, int] = {}
    neighbours = []
    known: dict[bytes, str] = {}
    for number, fields in text.rows(list_separator(text)):
        if not all(fields):
            raise text.error(number, "an empty name; fix the line or remove the extra separator")
        # One string per name, however often it is mentioned.
        device, *names = (known.setdefault(field, field.decode()) for field in fields)
        if device in lines:
            raise text.error(
                number, f"device {device!r} stands on line {lines[device]} already; put its neighbours on one line"
            )
        lines[device] = number
        neighbours.append(tuple(name for name in dict.fromkeys(names) if name != device))
    if not lines:
        raise text.error(1, "the file has no devices; expected 'device neighbour neighbour …' on each line")
    return NamedLists(tuple(lines), tuple(neighbours))
