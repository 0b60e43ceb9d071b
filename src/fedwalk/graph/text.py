"""Read text files line by line, for all text formats.

A file may be compressed, begin with a byte order mark and use any of the three line endings. Lines stay bytes: they are
then split at ASCII white space only, and each name is decoded once instead of at every occurrence. Every error names
the file and the line.
"""

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from os import PathLike
from pathlib import Path

from fedwalk.errors import InputError
from fedwalk.graph.sources import Content, read_content

SEPARATORS = (b"\t", b",", b";")
"""Tried in this order, before white space (None)."""

SAMPLE = 50
"""Number of lines from which the separator and a header are recognised."""

_QUOTED = (b",", b";")
"""Separators of CSV files, whose fields may be in quotes."""


@dataclass(frozen=True, slots=True)
class Text:
    """The content of a file: valid UTF-8 without NUL, with line feeds as line endings."""

    path: Path
    data: bytes

    def rows(self, separator: bytes | None) -> Iterator[tuple[int, list[bytes]]]:
        """The line number and the fields of every line that is neither blank nor a comment."""
        for number, raw in enumerate(io.BytesIO(self.data), 1):
            line = raw.strip()
            if not line or line[0] in b"#%":
                continue
            yield number, split_line(line, separator)

    def sample(self, separator: bytes | None) -> list[list[bytes]]:
        """The fields of the first rows."""
        return [fields for _, fields in islice(self.rows(separator), SAMPLE)]

    def error(self, line: int, problem: str) -> InputError:
        """An error about one line."""
        return InputError(f"{self.path}, line {line}: {problem}")


def read_text(path: str | PathLike[str]) -> Text:
    """Read a text file, compressed or not.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "pairs.csv")
    >>> _ = path.write_bytes(b"# a comment\\r\\n1, 2\\r\\n")
    >>> list(read_text(path).rows(b","))
    [(2, [b'1', b'2'])]
    """
    return text_of(read_content(path))


def text_of(content: Content) -> Text:
    """The content of a text file, checked, with line feeds as line endings."""
    data = content.data.removeprefix(b"\xef\xbb\xbf")
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    text = Text(content.path, data)
    _check_utf8(text)
    return text


def split_line(line: bytes, separator: bytes | None) -> list[bytes]:
    """The fields of a line without white space at its ends."""
    if separator is None:
        return line.split()
    if separator in _QUOTED and b'"' in line:
        return _unquote(line, separator)
    return [field.strip() for field in line.split(separator)]


def list_separator(text: Text) -> bytes | None:
    """The separator of a file whose lines may have any number of fields."""
    for separator in SEPARATORS:
        sample = text.sample(separator)
        if any(len(fields) > 1 for fields in sample) and not any(map(_is_run, chain(*sample))):
            return separator
    return None


def _unquote(line: bytes, separator: bytes) -> list[bytes]:
    """The fields of a line with CSV quotes; a line with unmatched quotes is one field."""
    reader = csv.reader([line.decode()], delimiter=separator.decode(), skipinitialspace=True)
    try:
        return [field.encode().strip() for field in next(reader)]
    except csv.Error:
        return [line]


def _is_run(field: bytes) -> bool:
    """Whether the field consists of several numbers, as in `1<tab>2 3`, so that the separator is the wrong one."""
    parts = field.split()
    return len(parts) > 1 and all(part.isdigit() for part in parts)


def _check_utf8(text: Text) -> None:
    """Raise InputError unless the text is UTF-8 without NUL."""
    at = text.data.find(b"\0")
    if at >= 0:
        line = text.data.count(b"\n", 0, at) + 1
        reason = "a NUL byte, so the file isn't text (or is UTF-16)"
        raise text.error(line, f"{reason}; save it as UTF-8, or give its format with --format (in Python: format=…)")
    if text.data.isascii():
        return
    try:
        text.data.decode()
    except UnicodeDecodeError as error:
        line = text.data.count(b"\n", 0, error.start) + 1
        raise text.error(line, "bytes that aren't UTF-8; save the file in that encoding") from error
