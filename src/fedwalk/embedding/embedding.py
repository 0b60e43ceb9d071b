"""The result of a run: one vector per vertex, by name. A value on its own, apart from what trained it."""

import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedwalk.errors import InputError

Name = int | str


@dataclass(frozen=True, slots=True, eq=False)
class Embedding:
    """Vectors of vertices, found by the vertex's name.

    Attributes
    ----------
    nodes : array of int64 or str
        The names, each once.
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
        """Cosine of the angle between two vertices' vectors; 0 if either vector is zero."""
        return float(_unit(self[a]) @ _unit(self[b]))

    def most_similar(self, name: Name, count: int = 10) -> list[tuple[Name, float]]:
        """The `count` other vertices of largest cosine, best first; equals in the order of `nodes`."""
        row = self._find(name)
        cosines = _unit(self.vectors) @ _unit(self.vectors[row])
        order = np.argsort(-cosines, kind="stable")
        best = order[order != row][: max(0, count)]
        return list(zip(self.nodes[best].tolist(), cosines[best].tolist(), strict=True))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write ``nodes`` and ``vectors`` to an .npz file, whole or not at all."""
        with _replacing(Path(path)) as file:
            np.savez(file, nodes=self.nodes, vectors=self.vectors)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Embedding":
        """Read a file that `save` wrote.

        Raises
        ------
        InputError
            If the file is missing, damaged or something else.
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
            If a name holds white space or is empty: the format has no way to write it.
        """
        names = [str(name) for name in self]
        for name in names:
            if name.split() != [name]:
                raise InputError(
                    f"vertex {name!r}: word2vec's format can't hold a name that is empty or has white space in it; "
                    "save the embedding as .npz, or rename the vertex"
                )
        with _replacing(Path(path)) as file:
            file.write(f"{len(self)} {self.dim}\n".encode())
            for name, vector in zip(names, self.vectors, strict=True):
                # str() of a float32 is the shortest text that reads back as the same float32.
                file.write(f"{name} {' '.join(map(str, vector))}\n".encode())

    def _find(self, name: Name) -> int:
        row = self._row.get(str(name))
        if row is None:
            close = get_close_matches(str(name), self._row, n=3)
            hint = f"; close to it: {', '.join(close)}" if close else ""
            raise KeyError(f"no vertex {name!r} among {len(self)}{hint}")
        return row


def _as_names(nodes: ArrayLike) -> NDArray[Any]:
    """Names as int64 if they are whole numbers, else as text."""
    names = np.asarray(nodes)
    if np.issubdtype(names.dtype, np.integer):
        return names.astype(np.int64)
    if names.dtype.kind == "U":
        return names
    if names.size == 0:
        return names.astype(np.int64)
    raise InputError(f"names of vertices must be whole numbers or text, got an array of {names.dtype}")


def _check(names: NDArray[Any], vectors: NDArray[np.float32], row: dict[str, int]) -> None:
    """The invariants of an Embedding."""
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
        raise InputError(f"the vector of vertex {names[~finite][0]} holds a number that is not finite")


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Vectors scaled to length one; zero stays zero."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    unit = np.zeros_like(vectors)
    np.divide(vectors, length, out=unit, where=length > 0)
    return unit


@contextmanager
def _replacing(path: Path) -> Iterator[IO[bytes]]:
    """A temporary file beside `path` that takes its place once it is complete."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("wb") as file:
            yield file
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
