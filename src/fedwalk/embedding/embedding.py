"""The result of a run: one vector per node, looked up by the node. Independent of how the vectors were trained."""

import os
from collections.abc import Hashable, Iterable, Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from fedwalk.errors import InputError
from fedwalk.graph.names import Names, is_integer, name_nodes
from fedwalk.util.html import html_table
from fedwalk.util.text import counted

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

SHOWN_ROWS, SHOWN_COLUMNS = 5, 6
"""How much of an embedding a notebook shows."""


class Embedding:
    """One vector per node, in the order of the graph's nodes.

    To numpy, scikit-learn and pandas it is the matrix of its vectors: ``np.asarray(e)`` is ``e.vectors``.

    Parameters
    ----------
    nodes : sequence of hashable objects
        The nodes, without repeats; no two may have the same text.
    vectors : array of shape (nodes, dim)
        Row i is the vector of ``nodes[i]``.

    Attributes
    ----------
    nodes : array of int64, str or object
        The nodes, as the graph has them.
    vectors : array of float32, shape (nodes, dim)
        Row i is the vector of ``nodes[i]``.

    Examples
    --------
    >>> e = Embedding([10, 20, 30], [[1, 0], [0.9, 0.1], [0, 1]])
    >>> e
    Embedding(3 nodes, 2 dimensions)
    >>> len(e), e.shape, 20 in e, "20" in e
    (3, (3, 2), True, True)
    >>> e[30].tolist(), e[[30, 10]].tolist()
    ([0.0, 1.0], [[0.0, 1.0], [1.0, 0.0]])
    >>> [node for node, _ in e.most_similar(10, topn=2)]
    [20, 30]
    >>> round(e.similarity(10, 30), 6)
    0.0
    """

    __slots__ = ("_rows", "_rows_by_text", "nodes", "vectors")
    nodes: NDArray[Any]
    vectors: NDArray[np.float32]

    def __init__(self, nodes: ArrayLike | Iterable[Hashable], vectors: ArrayLike) -> None:
        self.nodes = _as_nodes(nodes)
        self.vectors = np.ascontiguousarray(vectors, dtype=np.float32)
        self._rows_by_text: dict[str, int] | None = None
        self._rows: dict[Hashable, int] = {node: row for row, node in enumerate(self.nodes.tolist())}
        _check(self.nodes, self.vectors, self._rows)

    def __repr__(self) -> str:
        dimensions = counted(self.dim, "dimension", "dimensions")
        return f"Embedding({counted(len(self), 'node', 'nodes')}, {dimensions})"

    def _repr_html_(self) -> str:
        shown = min(self.dim, SHOWN_COLUMNS)
        more = ["…"] if shown < self.dim else []
        rows = [
            [node, *(f"{value:.3f}" for value in vector[:shown]), *more]
            for node, vector in zip(self.nodes[:SHOWN_ROWS].tolist(), self.vectors, strict=False)
        ]
        rows += [["…"] * (1 + shown + len(more))] if len(self) > SHOWN_ROWS else []
        return html_table(repr(self), ["node", *map(str, range(shown)), *more], rows)

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return int(self.vectors.shape[1])

    @property
    def shape(self) -> tuple[int, int]:
        """Number of nodes, and length of a vector."""
        return len(self), self.dim

    @property
    def names(self) -> Names:
        """The nodes as files hold them: integers or text."""
        return name_nodes(self.nodes.tolist())[0] if self.nodes.dtype == object else self.nodes

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        converted = self.vectors.astype(dtype or np.float32, copy=bool(copy))
        if copy is False and converted is not self.vectors:
            raise ValueError(f"the vectors are float32; as {np.dtype(dtype)} they have to be copied")
        return converted

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.nodes.tolist())

    def __contains__(self, node: object) -> bool:
        return self._row(node) is not None

    def __getitem__(self, node: Any) -> NDArray[np.float32]:
        """The vector of a node, or the rows of a list, an array or a Series of nodes."""
        if isinstance(node, slice):
            raise TypeError("an embedding is indexed by nodes; for rows by number, use `vectors`")
        nodes = _several(node)
        rows = self._find(node) if nodes is None else np.array([self._find(one) for one in nodes], np.int64)
        selected: NDArray[np.float32] = self.vectors[rows]
        return selected

    def similarity(self, a: Hashable, b: Hashable) -> float:
        """The cosine of the angle between the vectors of two nodes; 0 if either vector is zero."""
        return float(_unit(self[a]) @ _unit(self[b]))

    def most_similar(self, node: Hashable, topn: int = 10) -> list[tuple[Any, float]]:
        """The `topn` other nodes with the largest cosine, best first; ties in the order of `nodes`."""
        row = self._find(node)
        cosines = _unit(self.vectors) @ _unit(self.vectors[row])
        order = np.argsort(-cosines, kind="stable")
        best = order[order != row][: max(0, topn)]
        return list(zip(self.nodes[best].tolist(), cosines[best].tolist(), strict=True))

    def to_pandas(self) -> "pd.DataFrame":
        """A data frame with the nodes as its index and a column per dimension; needs pandas."""
        try:
            import pandas as pd
        except ImportError:
            raise InputError("to_pandas needs pandas. Install it with pip.") from None
        # Nodes that are tuples would otherwise become an index of several levels.
        index = pd.Index(self.nodes.tolist(), name="node", tupleize_cols=False)
        return pd.DataFrame(self.vectors, index=index)

    def to_polars(self) -> "pl.DataFrame":
        """A data frame with a column ``node`` and a column per dimension; needs polars."""
        try:
            import polars as pl
        except ImportError:
            raise InputError("to_polars needs polars. Install it with pip.") from None
        columns = {str(i): self.vectors[:, i] for i in range(self.dim)}
        return pl.DataFrame({"node": self.names, **columns})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file, in the format of its suffix. An existing file is replaced only by a complete one.

        .npz (numpy), .parquet and .csv (tables), .txt and .vec (word2vec's text format), .bin (word2vec's binary
        format), .tsv (for TensorBoard's projector; the names go into a second file, ``….metadata.tsv``). Nodes that are
        neither integers nor text are written as their text.
        """
        from fedwalk.embedding.files import save_embedding

        save_embedding(self, Path(path))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Embedding":
        """Read a file that `save` wrote, or the embedding in a run folder.

        Raises
        ------
        InputError
            If the file is missing, damaged or of another format.
        """
        from fedwalk.embedding.files import load_embedding

        return load_embedding(Path(path))

    def _find(self, node: Any) -> int:
        row = self._row(node)
        if row is None:
            close = get_close_matches(str(node), map(str, self), n=3)
            hint = f"; close to it: {', '.join(close)}" if close else ""
            raise KeyError(f"no node {node!r} among {len(self)}{hint}")
        return row

    def _row(self, node: Any) -> int | None:
        """The row of a node. 20 and "20" are the same one: names in files are text, and often typed as such."""
        node = node.item() if isinstance(node, np.ndarray) and node.ndim == 0 else node
        try:
            row = None if isinstance(node, bool | np.bool_) else self._rows.get(node)
        except TypeError:
            return None
        if row is not None:
            return row
        text = str(node)
        if self.nodes.dtype == object:
            return self._texts().get(text)
        if self.nodes.dtype.kind == "i":
            return self._rows.get(int(text)) if is_integer(text) else None
        return self._rows.get(text)

    def _texts(self) -> dict[str, int]:
        if self._rows_by_text is None:
            self._rows_by_text = {str(node): row for row, node in enumerate(self)}
        return self._rows_by_text


def _several(node: Any) -> list[Any] | None:
    """The nodes in a list, an array or a Series; None for a single node. A tuple is a single node."""
    if isinstance(node, list) or np.isscalar(node):
        return node if isinstance(node, list) else None
    for name in ("tolist", "to_list"):
        if hasattr(node, name):
            nodes = getattr(node, name)()
            # An array without dimensions is one node.
            return nodes if isinstance(nodes, list) else None
    return None


def _as_nodes(nodes: ArrayLike | Iterable[Hashable]) -> NDArray[Any]:
    """Integers as int64, text as such, and anything else as an array of objects."""
    if isinstance(nodes, np.ndarray):
        if nodes.ndim != 1 or nodes.dtype.kind not in "iuUO":
            given = f"{nodes.dtype}, {nodes.ndim}-D"
            raise InputError(f"nodes: expected integers, text or objects, one per row; got {given}")
        if nodes.dtype.kind == "U":
            return nodes.copy()
        if np.can_cast(nodes.dtype, np.int64):
            return nodes.astype(np.int64)
        nodes = nodes.tolist()
    names, objects = name_nodes(nodes)  # type: ignore[arg-type]
    if objects is None:
        return names
    array = np.empty(len(objects), dtype=object)
    array[:] = objects
    return array


def _check(nodes: NDArray[Any], vectors: NDArray[np.float32], rows: dict[Hashable, int]) -> None:
    """Raise InputError unless there is one finite row per node, and no node twice."""
    if vectors.ndim != 2 or len(nodes) != len(vectors):
        raise InputError(
            f"an embedding needs one row of numbers per node, got {len(nodes)} nodes and vectors of shape "
            f"{vectors.shape}"
        )
    if len(rows) != len(nodes):
        unique, counts = np.unique(nodes, return_counts=True)
        raise InputError(f"node {unique[counts > 1][0]} appears more than once; every node needs a row of its own")
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.all():
        raise InputError(f"the vector of node {nodes[~finite][0]} contains a number that isn't finite")


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Vectors scaled to length one; zero vectors stay zero."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    unit = np.zeros_like(vectors)
    np.divide(vectors, length, out=unit, where=length > 0)
    return unit
