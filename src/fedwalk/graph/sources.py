"""The bytes of a file or of standard input, unpacked if they are compressed: what every reader of a format gets."""

import bz2
import gzip
import io
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from fedwalk.errors import InputError
from fedwalk.util.extras import install_hint

STDIN = "-"
"""The name that stands for standard input."""

_CHUNK = 1 << 20

_ZSTD_PIECE = 1 << 12
"""Packed bytes that are unpacked at once. Four bytes can unpack to a block of 128 KiB, so a piece to 128 MiB."""

MAX_UNPACKED = 1 << 30
"""As many bytes may always be unpacked."""

MAX_RATIO = 1000
"""How many times larger than its packed file a larger content may be. Graphs reach about 10."""


@dataclass(frozen=True, slots=True)
class Content:
    """What a file holds, unpacked. `path` is for messages only, and names no file if it came from standard input."""

    path: Path
    data: bytes

    @property
    def suffix(self) -> str:
        """The suffix of the file's name in lower case, without that of a compression."""
        inner = Path(self.path.stem) if self.path.suffix.lower() in PACKINGS else self.path
        return inner.suffix.lower()


def read_content(path: str | PathLike[str]) -> Content:
    """Read and unpack a file, or standard input if it is called `-`."""
    if str(path) == STDIN:
        if sys.stdin.isatty():
            raise InputError("standard input is a terminal; pipe a graph into the command, or name a file")
        return _unpacked(Path("standard input"), sys.stdin.buffer.read())
    file = existing_file(path)
    return _unpacked(file, file.read_bytes())


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


def _chunks(file: gzip.GzipFile | bz2.BZ2File) -> Iterator[bytes]:
    with file:
        while chunk := file.read(_CHUNK):
            yield chunk


def _unpack_zstd(data: bytes) -> Iterator[bytes]:
    try:
        import zstandard
    except ImportError:
        raise InputError(f"reading .zst files needs zstandard: {install_hint('formats')}") from None
    # Its file interface ends without an error where a truncated file ends; this one says whether a frame is complete.
    at = 0
    while at < len(data):
        frame = zstandard.ZstdDecompressor().decompressobj()
        while at < len(data) and not frame.eof:
            yield frame.decompress(data[at : at + _ZSTD_PIECE])
            at += _ZSTD_PIECE
        if not frame.eof:
            raise EOFError("its last frame is incomplete")
        at = min(at, len(data)) - len(frame.unused_data)


PACKINGS: dict[str, tuple[str, bytes, Callable[[bytes], Iterator[bytes]]]] = {
    ".gz": ("gzip", b"\x1f\x8b", lambda data: _chunks(gzip.GzipFile(fileobj=io.BytesIO(data)))),
    ".bz2": ("bzip2", b"BZh", lambda data: _chunks(bz2.BZ2File(io.BytesIO(data)))),
    ".zst": ("zstd", b"\x28\xb5\x2f\xfd", _unpack_zstd),
}
"""By suffix: the name of each compression, the bytes with which its files begin, and how to unpack them."""


def _unpacked(path: Path, data: bytes) -> Content:
    """Unpack by the first bytes; a name that promises a compression that isn't there is an error."""
    for name, magic, unpack in PACKINGS.values():
        if data.startswith(magic):
            return Content(path, _unpack(path, name, unpack, data))
    if path.suffix.lower() in PACKINGS:
        name = PACKINGS[path.suffix.lower()][0]
        raise InputError(
            f"{path}: not a {name} file, although its name ends in {path.suffix}; rename it or compress it again"
        )
    return Content(path, data)


def _unpack(path: Path, name: str, unpack: Callable[[bytes], Iterator[bytes]], packed: bytes) -> bytes:
    """Decompress; the error for a damaged file names the line where it breaks off."""
    data = bytearray()
    try:
        for chunk in unpack(packed):
            data += chunk
            if len(data) > max(MAX_UNPACKED, MAX_RATIO * len(packed)):
                raise InputError(
                    f"the {name} file of {len(packed):,} bytes unpacks to over {MAX_RATIO:,} times its size, so it is "
                    "hardly a graph; if it is one, unpack it yourself and give the result"
                )
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    # Each compression has its own exceptions, and zstandard's has no name without an import.
    except Exception as error:
        line = data.count(b"\n") + 1
        raise InputError(
            f"{path}, line {line}: the {name} file is truncated or damaged from about here on ({error}); copy it again"
        ) from error
    return bytes(data)
