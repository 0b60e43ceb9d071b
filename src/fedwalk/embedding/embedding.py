"""The result of a run: one vector per vertex, looked up by name. Independent of how the vectors were trained."""

import os
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedwalk.errors import InputError
from fedwalk.util.files import replace_file

Name = int | str


@dataclass(frozen=True, slots=True, eq=False)
class Embedding:
    """One vector per vertex, looked up by the vertex's name.

    Attributes
    ----------
    nodes : array of int64 or str
        The names of the vertices, without repeats.
    vectors : array of float32, shape (nodes, dim)
        Row i is the vector of ``nodes[i]``.

    Examples
    --------
    >>> e = Embedding([10, 20, 30], [[1, 0], [0.9, 0.1], [0, 1]])
    >>> len(e), e.dim, 20 in e, "20" in e
    (3, 2, True, True)
    >>> e["30"].tolist() == e[30].tolist() == [0.0, 1.0]
    True
    >>> [name for name, _ in e.most_similar(10, count=2)]
    [20, 30]
    >>> round(e.similarity(10, 30), 6)
    0.0
    """

    nodes: NDArray[Any]
    vectors: NDArray[np.float32]
    # Keys are strings, so that 20 and "20" are the same vertex: names read from text files are often typed as text.
    _row: dict[str, int] = field(init=False, repr=False)

    def __init__(self, nodes: ArrayLike, vectors: ArrayLike) -> None:
        names = _as_names(nodes)
        table = np.ascontiguousarray(vectors, dtype=np.float32)
        row = {str(name): i for i, name in enumerate(names.tolist())}
        _check(names, table, row)
        object.__setattr__(self, "nodes", names)
        object.__setattr__(self, "vectors", table)
        object.__setattr__(self, "_row", row)

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return int(self.vectors.shape[1])

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[Name]:
        return iter(self.nodes.tolist())

    def __contains__(self, name: object) -> bool:
        return str(name) in self._row

    def __getitem__(self, name: Name) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = self.vectors[self._find(name)]
        return vector

    def similarity(self, a: Name, b: Name) -> float:
        """The cosine of the angle between the vectors of two vertices; 0 if either vector is zero."""
        return float(_unit(self[a]) @ _unit(self[b]))

    def most_similar(self, name: Name, count: int = 10) -> list[tuple[Name, float]]:
        """The `count` other vertices with the largest cosine, best first; ties in the order of `nodes`."""
        row = self._find(name)
        cosines = _unit(self.vectors) @ _unit(self.vectors[row])
        order = np.argsort(-cosines, kind="stable")
        best = order[order != row][: max(0, count)]
        return list(zip(self.nodes[best].tolist(), cosines[best].tolist(), strict=True))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write ``nodes`` and ``vectors`` to an .npz file. An existing file is replaced only by a complete one."""
        replace_file(Path(path), lambda file: np.savez(file, nodes=self.nodes, vectors=self.vectors))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Embedding":
        """Read a file written by `save`.

        Raises
        ------
        InputError
            If the file is missing, damaged or of another format.
        """
        expected = "expected an .npz file with the arrays 'nodes' and 'vectors', as Embedding.save writes it"
        try:
            with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                return cls(arrays["nodes"], arrays["vectors"])
        except FileNotFoundError:
            raise InputError(f"{path}: no such file; {expected}") from None
        except (
            OSError,
            EOFError,
            KeyError,
            ValueError,
            TypeError,
            AttributeError,
            zipfile.BadZipFile,
            InputError,
        ) as error:
            raise InputError(f"{path}: {expected}, but: {error}") from error

    def save_word2vec(self, path: str | os.PathLike[str]) -> None:
        """Write word2vec's text format, which gensim's ``KeyedVectors.load_word2vec_format`` reads.

        Raises
        ------
        InputError
            If a name is empty or contains white space, which the format can't represent.
        """
        names = [str(name) for name in self]
        for name in names:
            if name.split() != [name]:
                raise InputError(
                    f"vertex {name!r}: word2vec's format doesn't allow empty names or names with white space; "
                    "save the embedding as .npz, or rename the vertex"
                )

        def write(file: BinaryIO) -> None:
            file.write(f"{len(self)} {self.dim}\n".encode())
            for name, vector in zip(names, self.vectors, strict=True):
                # str() of a float32 is the shortest text that reads back as the same float32.
                file.write(f"{name} {' '.join(map(str, vector))}\n".encode())

        replace_file(Path(path), write)

    def _find(self, name: Name) -> int:
        row = self._row.get(str(name))
        if row is None:
            close = get_close_matches(str(name), self._row, n=3)
            hint = f"; close to it: {', '.join(close)}" if close else ""
            raise KeyError(f"no vertex {name!r} among {len(self)}{hint}")
        return row


def _as_names(nodes: ArrayLike) -> NDArray[Any]:
    """Names as int64 if they are integers, else as text."""
    names = np.asarray(nodes)
    if np.issubdtype(names.dtype, np.integer):
        return names.astype(np.int64)
    if names.dtype.kind == "U":
        return names
    if names.size == 0:
        return names.astype(np.int64)
    raise InputError(f"names of vertices must be integers or text, got an array of {names.dtype}")


def _check(names: NDArray[Any], vectors: NDArray[np.float32], row: dict[str, int]) -> None:
    """Raise InputError unless every invariant of `Embedding` holds."""
    if names.ndim != 1 or vectors.ndim != 2 or len(names) != len(vectors):
        raise InputError(
            f"an embedding needs one row of numbers per name, got names of shape {names.shape} "
            f"and vectors of shape {vectors.shape}"
        )
    if len(row) != len(names):
        unique, counts = np.unique(names, return_counts=True)
        raise InputError(f"vertex {unique[counts > 1][0]} appears more than once; every name needs a row of its own")
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.all():
        raise InputError(f"the vector of vertex {names[~finite][0]} contains a number that isn't finite")


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Vectors scaled to length one; zero vectors stay zero."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    unit = np.zeros_like(vectors)
    np.divide(vectors, length, out=unit, where=length > 0)
    return unit
