"""Files of embeddings, by suffix: numpy's, tables, word2vec's two formats, and TensorBoard's pair.

To add a format, write a function that writes it and one that reads it, and register both in FORMATS.
"""

import csv
import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from fedwalk.embedding.embedding import Embedding
from fedwalk.errors import FedWalkError, InputError
from fedwalk.graph.names import parse_names
from fedwalk.util.extras import install_hint
from fedwalk.util.files import replace_file

EMBEDDING_FILE = "embedding.npz"
"""The embedding in a run folder."""
NODE = "node"
"""The column of a table that has the nodes; the others are the dimensions."""


@dataclass(frozen=True, slots=True)
class Format:
    """How a kind of file is written and read, and what it is in words."""

    write: Callable[[Embedding, Path], None]
    read: Callable[[Path], Embedding]
    expected: str


def save_embedding(embedding: Embedding, path: Path) -> None:
    """Write the file in the format of its suffix."""
    _format(path).write(embedding, path)


def load_embedding(path: Path) -> Embedding:
    """Read a file in the format of its suffix, or the embedding of a run folder."""
    if path.is_dir():
        path = path / EMBEDDING_FILE
        if not path.exists():
            raise InputError(f"{path.parent}: a folder without {EMBEDDING_FILE}, so it holds no finished run")
    form = _format(path)
    if not path.exists():
        raise InputError(f"{path}: no such file; expected {form.expected}")
    try:
        return form.read(path)
    # A damaged file can fail in zipfile, zlib, numpy or pyarrow, each with its own exceptions.
    except Exception as error:
        if isinstance(error, FedWalkError) and str(path) in str(error):
            raise
        raise InputError(f"{path}: expected {form.expected}, but: {error}") from error


def _format(path: Path) -> Format:
    form = FORMATS.get(path.suffix.lower())
    if form is None:
        raise InputError(
            f"{path}: unknown suffix {path.suffix!r} for an embedding; the known ones are {', '.join(FORMATS)}"
        )
    return form


def _write_npz(embedding: Embedding, path: Path) -> None:
    replace_file(path, lambda file: np.savez(file, nodes=embedding.names, vectors=embedding.vectors))


def _read_npz(path: Path) -> Embedding:
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        return Embedding(arrays["nodes"], arrays["vectors"])


def _numbers(vector: NDArray[np.float32]) -> list[str]:
    # str() of a float32 is the shortest text that reads back as the same float32.
    return list(map(str, vector))


def _write_csv(embedding: Embedding, path: Path) -> None:
    def write(file: BinaryIO) -> None:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
        table = csv.writer(text, lineterminator="\n")
        table.writerow([NODE, *range(embedding.dim)])
        for name, vector in zip(embedding.names.tolist(), embedding.vectors, strict=True):
            table.writerow([name, *_numbers(vector)])
        # The file stays open: `replace_file` closes it.
        text.detach()

    replace_file(path, write)


def _read_csv(path: Path) -> Embedding:
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file)
        header = next(rows, [])
        if header != [NODE, *map(str, range(len(header) - 1))]:
            raise InputError(f"the first line is {','.join(header)[:60]!r}")
        return _from_rows(rows, len(header) - 1)


def _from_rows(rows: Iterable[list[str]], dim: int) -> Embedding:
    """An embedding from lines of a name and its numbers."""
    names, vectors = list[str](), list[NDArray[np.float32]]()
    for number, row in enumerate(rows, 1):
        if len(row) != dim + 1:
            raise InputError(f"vector {number} has {len(row) - 1} numbers; expected {dim}")
        names.append(row[0])
        vectors.append(np.array(row[1:], np.float32))
    return Embedding(parse_names(names, "vectors"), np.array(vectors, np.float32).reshape(-1, dim))


def _write_parquet(embedding: Embedding, path: Path) -> None:
    arrow, parquet = _pyarrow(path)
    columns = {str(i): np.ascontiguousarray(embedding.vectors[:, i]) for i in range(embedding.dim)}
    table = arrow.table({NODE: arrow.array(embedding.names.tolist()), **columns})
    replace_file(path, lambda file: parquet.write_table(table, file))


def _read_parquet(path: Path) -> Embedding:
    _, parquet = _pyarrow(path)
    table = parquet.read_table(path)
    dimensions = [name for name in table.column_names if name != NODE]
    if NODE not in table.column_names or dimensions != [str(i) for i in range(len(dimensions))]:
        raise InputError(f"its columns are {', '.join(table.column_names)[:60]}")
    vectors = [table[name].to_numpy().astype(np.float32) for name in dimensions]
    return Embedding(table[NODE].to_pylist(), np.column_stack(vectors) if vectors else np.empty((table.num_rows, 0)))


def _pyarrow(path: Path) -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise InputError(f"{path}: Parquet needs pyarrow: {install_hint('formats')}") from None
    return pyarrow, pyarrow.parquet


def _word2vec_names(embedding: Embedding) -> list[str]:
    """The nodes' names, if word2vec's formats can hold them."""
    names: list[str] = embedding.names.astype(str).tolist()
    for name in names:
        if name.split() != [name]:
            raise InputError(
                f"node {name!r}: word2vec's formats don't allow names with white space; save the embedding as .npz, "
                ".csv or .parquet, or rename the node"
            )
    return names


def _write_word2vec(embedding: Embedding, path: Path) -> None:
    names = _word2vec_names(embedding)

    def write(file: BinaryIO) -> None:
        file.write(f"{len(embedding)} {embedding.dim}\n".encode())
        for name, vector in zip(names, embedding.vectors, strict=True):
            file.write(f"{name} {' '.join(_numbers(vector))}\n".encode())

    replace_file(path, write)


def _read_word2vec(path: Path) -> Embedding:
    with path.open(encoding="utf-8") as file:
        count, dim = _counts(file.readline())
        embedding = _from_rows((line.rstrip("\n").split(" ") for line in file), dim)
    if len(embedding) != count:
        raise InputError(f"{len(embedding)} vectors, but the first line says {count}")
    return embedding


def _write_word2vec_binary(embedding: Embedding, path: Path) -> None:
    names, vectors = _word2vec_names(embedding), embedding.vectors.astype("<f4", copy=False)

    def write(file: BinaryIO) -> None:
        file.write(f"{len(embedding)} {embedding.dim}\n".encode())
        for name, vector in zip(names, vectors, strict=True):
            file.write(f"{name} ".encode() + vector.tobytes())

    replace_file(path, write)


def _read_word2vec_binary(path: Path) -> Embedding:
    with path.open("rb") as file:
        count, dim = _counts(file.readline(100).decode("ascii"))
        # Each vector takes at least a letter, a space and its numbers.
        if count * (2 + 4 * dim) > path.stat().st_size:
            raise InputError(f"the file is too short for {count} vectors of {dim} numbers")
        names, rows = list[str](), np.empty((count, dim), np.float32)
        for row in range(count):
            names.append(b"".join(_until_space(file)).decode("utf-8"))
            rows[row] = np.frombuffer(file.read(4 * dim), "<f4")
    return Embedding(parse_names(names, "vectors"), rows)


def _until_space(file: BinaryIO) -> Iterator[bytes]:
    """The bytes of a name. Other writers put a line feed before it."""
    while (letter := file.read(1)) != b" ":
        if not letter:
            raise InputError("the file ends in the middle of a name")
        if letter != b"\n":
            yield letter


def _counts(line: str) -> tuple[int, int]:
    """The number of vectors and of dimensions, on the first line of word2vec's formats."""
    parts = line.split()
    if len(parts) != 2 or not all(part.isdigit() for part in parts):
        raise InputError(f"the first line is {line[:60]!r}")
    return int(parts[0]), int(parts[1])


def _metadata(path: Path) -> Path:
    return path.with_suffix(f".metadata{path.suffix}")


def _write_projector(embedding: Embedding, path: Path) -> None:
    names = embedding.names.astype(str).tolist()
    for name in names:
        if "\t" in name or len(name.splitlines()) != 1:
            raise InputError(f"node {name!r}: a TSV file can't hold tabs or line feeds; save the embedding as .npz")
    lines = ("\t".join(_numbers(vector)) for vector in embedding.vectors)
    replace_file(_metadata(path), lambda file: file.write("".join(f"{name}\n" for name in names).encode()))
    replace_file(path, lambda file: file.writelines(f"{line}\n".encode() for line in lines))


def _read_projector(path: Path) -> Embedding:
    if not _metadata(path).exists():
        raise InputError(f"there is no {_metadata(path).name} beside it, which has the names")
    names = _metadata(path).read_text(encoding="utf-8").split("\n")[:-1]
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    if len(lines) != len(names):
        raise InputError(f"{len(lines)} vectors and {len(names)} names")
    dim = len(lines[0].split("\t")) if lines else 0
    return _from_rows(([name, *line.split("\t")] for name, line in zip(names, lines, strict=True)), dim)


_WORD2VEC = Format(_write_word2vec, _read_word2vec, "word2vec's text format")
FORMATS = {
    ".npz": Format(
        _write_npz, _read_npz, "an .npz file with the arrays 'nodes' and 'vectors', as Embedding.save writes it"
    ),
    ".parquet": Format(_write_parquet, _read_parquet, "a Parquet table with the columns node, 0, 1, …"),
    ".csv": Format(_write_csv, _read_csv, "a CSV table with the columns node, 0, 1, …"),
    ".txt": _WORD2VEC,
    ".vec": _WORD2VEC,
    ".bin": Format(_write_word2vec_binary, _read_word2vec_binary, "word2vec's binary format"),
    ".tsv": Format(_write_projector, _read_projector, "the pair of TSV files for TensorBoard's projector"),
}
