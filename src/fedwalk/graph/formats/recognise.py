"""Which format a file has: its suffix says so, and the beginning of its content must not contradict it."""

import re

from fedwalk.errors import InputError
from fedwalk.graph.sources import PACKINGS, Content

EDGES = "edgelist"

SUFFIXES: dict[str, str] = {
    **dict.fromkeys((".edges", ".edgelist", ".txt", ".el", ".ungraph", ".pairs", ".ncol", ".links", ".dat"), EDGES),
    **dict.fromkeys((".csv", ".tsv", ".tab"), "csv"),
    **dict.fromkeys((".adjlist", ".adj"), "adjlist"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    ".graphml": "graphml",
    ".gml": "gml",
    ".mtx": "mtx",
    ".json": "nodelink",
    ".mat": "mat",
    ".npz": "npz",
}
"""The format of each suffix, in lower case; a suffix of a compression comes after it."""

PLAIN_TEXT = ("edgelist", "csv", "adjlist")
"""Formats whose content can't be told apart with certainty."""

_GML = re.compile(rb"(?:\s*#[^\n]*\n|\s*(?:Creator|Version|comment)\s[^\n]*\n)*\s*graph\s*\[", re.I)
_DOT = re.compile(rb"\s*(?:strict\s+)?(?:di)?graph\b[^\n\[]*\{", re.I)
_PAJEK = re.compile(rb"\s*\*(?:vertices|network)\b", re.I)
_UTF8_MARK = b"\xef\xbb\xbf"
_HEAD = 4096

_OTHERS = {
    "hdf5": ("an HDF5 file", "export the edges as CSV or Parquet"),
    "npy": ("a numpy array", "load it with numpy.load and give the array to fedwalk.load_graph"),
    "pickle": ("a Python pickle, which could run code", "load it yourself and give the object to fedwalk.load_graph"),
    "xlsx": ("an Excel workbook", "save the sheet as CSV"),
    "dot": ("Graphviz DOT", "read it with networkx.nx_pydot.read_dot and give the graph to fedwalk.load_graph"),
    "pajek": ("a Pajek file", "read it with networkx.read_pajek and give the graph to fedwalk.load_graph"),
    "gexf": ("GEXF", "read it with networkx.read_gexf and give the graph to fedwalk.load_graph"),
    "xml": ("XML, but not GraphML", "export the graph as GraphML or CSV"),
}
"""What fedwalk recognises but doesn't read: its description, and what to do."""

_OURS = {
    "parquet": "Parquet", "npz": "a .npz archive", "mat": "a MATLAB file", "mtx": "Matrix Market",
    "nodelink": "JSON", "graphml": "GraphML", "gml": "GML",
}  # fmt: skip


def recognise(content: Content) -> str:
    """The format by suffix and content; InputError if the two contradict each other or the suffix is unknown."""
    seen = look(content.data)
    if seen in _OTHERS:
        what, advice = _OTHERS[seen]
        raise InputError(f"{content.path}: this is {what}, which can't be read; {advice}")
    if content.path.name == "standard input":
        return seen or EDGES
    named = SUFFIXES.get(content.suffix)
    if named is None:
        raise InputError(_unknown_suffix(content, seen))
    if seen is not None and seen != named:
        raise InputError(
            f"{content.path}: the suffix {content.suffix} means {named}, but the content is {_OURS[seen]}; rename the "
            f"file, or give --format {seen} (in Python: format={seen!r})"
        )
    if seen is None and named not in PLAIN_TEXT and content.data.strip() and named != "mat":
        raise InputError(
            f"{content.path}: the suffix {content.suffix} means {_OURS[named]}, but the content begins with "
            f"{content.data[:20]!r}; write the file again, or name its format with --format (in Python: format=…)"
        )
    return named


def look(data: bytes) -> str | None:
    """What the content certainly is; None for plain text and anything unknown.

    >>> look(b"%%MatrixMarket matrix coordinate real general"), look(b"1 2\\n2 3\\n")
    ('mtx', None)
    """
    head = data[:_HEAD].removeprefix(_UTF8_MARK)
    return _look_binary(head) or _look_text(head.lstrip())


def _look_binary(head: bytes) -> str | None:
    if head.startswith(b"PK\x03\x04"):
        return "xlsx" if b"[Content_Types].xml" in head else "npz"
    # MATLAB 7.3 files are HDF5 too, but the reader of .mat files has a better message for them.
    magic = {b"PAR1": "parquet", b"\x89HDF": "hdf5", b"\x93NUMPY": "npy", b"MATLAB ": "mat"}
    for begin, name in magic.items():
        if head.startswith(begin):
            return name
    return "pickle" if head[:1] == b"\x80" and head[1:2] in b"\2\3\4\5" and len(head) > 1 else None


def _look_text(head: bytes) -> str | None:
    if head.startswith(b"%%MatrixMarket"):
        return "mtx"
    if head.startswith(b"{"):
        return "nodelink"
    # Not every "<": a vertex may be named "<b>".
    if head[:5].lower() in (b"<?xml", b"<html") or head.startswith((b"<!", b"<graphml", b"<gexf")):
        return "graphml" if b"<graphml" in head else "gexf" if b"<gexf" in head else "xml"
    for pattern, name in ((_GML, "gml"), (_DOT, "dot"), (_PAJEK, "pajek")):
        if pattern.match(head):
            return name
    return None


def _unknown_suffix(content: Content, seen: str | None) -> str:
    """The message for a file whose suffix says nothing."""
    suffix = f"the suffix {content.suffix} is unknown" if content.suffix else "the file's name has no suffix"
    looks = f"; its content is {_OURS[seen]}, so give --format {seen}" if seen else ""
    return (
        f"{content.path}: {suffix}{looks}. Known are {', '.join(SUFFIXES)}, each also with {', '.join(PACKINGS)}; "
        "--format overrides the suffix (in Python: format=…)"
    )
