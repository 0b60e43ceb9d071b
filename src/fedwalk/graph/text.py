"""Read text files line by line, for all text formats.

A file may be gzipped, begin with a byte order mark and use any of the three line endings. Lines stay bytes: they are
then split at ASCII white space only, and each name is decoded once instead of at every occurrence. Every error names
the file and the line.
"""

import csv
import gzip
import io
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from os import PathLike
from pathlib import Path

from fedwalk.errors import InputError

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
            if separator is None:
                yield number, line.split()
            elif separator in _QUOTED and b'"' in line:
                yield number, _unquote(line, separator)
            else:
                yield number, [field.strip() for field in line.split(separator)]

    def sample(self, separator: bytes | None) -> list[list[bytes]]:
        """The fields of the first rows."""
        return [fields for _, fields in islice(self.rows(separator), SAMPLE)]

    def error(self, line: int, problem: str) -> InputError:
        """An error about one line."""
        return InputError(f"{self.path}, line {line}: {problem}")


def existing_file(path: str | PathLike[str]) -> Path:
    """The path as a `Path`, if it is a readable file; the error says what is wrong with it."""
    file = Path(path)
    if file.is_dir():
        raise InputError(f"{file}: a folder, not a file; name the file in it")
    if not file.exists():
        raise InputError(f"{file}: no such file; check the path (the current folder is {Path.cwd()})")
    if not os.access(file, os.R_OK):
        raise InputError(f"{file}: no permission to read the file; check its permissions")
    return file


def read_text(path: Path) -> Text:
    """Read a text file, gzipped or not.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "pairs.csv")
    >>> _ = path.write_bytes(b"# a comment\\r\\n1, 2\\r\\n")
    >>> list(read_text(path).rows(b","))
    [(2, [b'1', b'2'])]
    """
    data = path.read_bytes()
    if data.startswith(b"\x1f\x8b"):
        data = _unzip(path, data)
    elif path.suffix == ".gz":
        raise InputError(f"{path}: not a gzip file, although its name ends in .gz; rename it or compress it again")
    data = data.removeprefix(b"\xef\xbb\xbf")
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    text = Text(path, data)
    _check_utf8(text)
    return text


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


def _unzip(path: Path, packed: bytes) -> bytes:
    """Decompress; the error for a damaged file names the line where it breaks off."""
    data = bytearray()
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(packed)) as file:
            while chunk := file.read(1 << 20):
                data += chunk
    except (EOFError, OSError, zlib.error) as error:
        line = data.count(b"\n") + 1
        raise Text(path, b"").error(
            line, f"the gzip file is truncated or damaged from about here on ({error}); copy it again"
        ) from error
    return bytes(data)


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
