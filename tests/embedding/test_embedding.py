"""The Embedding value: lookup, similarity, files, and what it refuses."""

from pathlib import Path

import numpy as np
import pytest
from gensim.models import KeyedVectors
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from fedwalk.embedding import Embedding
from fedwalk.errors import InputError


def numbered(count: int = 5, dim: int = 4) -> Embedding:
    vectors = np.random.default_rng(0).normal(size=(count, dim))
    return Embedding(np.arange(count) * 10, vectors)


def test_a_number_and_its_digits_name_the_same_vertex() -> None:
    for e in (Embedding([17, 3], np.eye(2)), Embedding(["17", "3"], np.eye(2))):
        assert e[17].tolist() == e["17"].tolist() == [1, 0]
        assert 17 in e
        assert "17" in e
        assert 1 not in e


def test_names_keep_their_order_and_kind() -> None:
    assert list(Embedding([3, 1, 2], np.eye(3))) == [3, 1, 2]
    assert list(Embedding(["b", "a"], np.eye(2))) == ["b", "a"]


def test_vectors_are_single_precision_rows_side_by_side() -> None:
    e = Embedding([0, 1], np.asfortranarray(np.ones((2, 3))))
    assert (len(e), e.dim, e.vectors.dtype.name) == (2, 3, "float32")
    assert e.vectors.flags.c_contiguous


def test_an_unknown_name_is_told_what_comes_close() -> None:
    e = Embedding(["alice", "bob"], np.eye(2))
    with pytest.raises(KeyError, match="no vertex 'alise' among 2; close to it: alice"):
        e["alise"]
    with pytest.raises(KeyError, match="no vertex 99 among 2"):
        e.most_similar(99)


def test_most_similar_ranks_by_cosine_and_leaves_the_vertex_itself_out() -> None:
    e = Embedding(list("abcd"), [[1, 0], [5, 5], [-1, 0], [9, 1]])
    names, cosines = zip(*e.most_similar("a"), strict=True)
    assert names == ("d", "b", "c")
    np.testing.assert_allclose(cosines, [9 / np.sqrt(82), np.sqrt(0.5), -1], rtol=1e-6)
    assert e.most_similar("a", count=1) == e.most_similar("a")[:1]
    assert e.similarity("a", "b") == pytest.approx(np.sqrt(0.5))


def test_a_zero_vector_is_similar_to_nothing() -> None:
    e = Embedding([0, 1], [[0, 0], [1, 2]])
    assert e.similarity(0, 1) == e.similarity(0, 0) == 0
    assert e.most_similar(0) == [(1, 0.0)]


@pytest.mark.parametrize("names", [[0, 10, -20], ["a b", "ü", "c\n"]])
def test_a_saved_embedding_loads_as_it_was(tmp_path: Path, names: list[int] | list[str]) -> None:
    e = Embedding(names, np.random.default_rng(1).normal(size=(3, 7)))
    e.save(tmp_path / "e.npz")
    loaded = Embedding.load(tmp_path / "e.npz")
    assert list(loaded) == names
    assert np.array_equal(loaded.vectors, e.vectors)
    assert [path.name for path in tmp_path.iterdir()] == ["e.npz"]


def test_a_failed_save_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "e.npz"
    numbered().save(path)
    before = path.read_bytes()

    def full_disk(*_: object, **__: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(np, "savez", full_disk)
    with pytest.raises(OSError, match="no space"):
        numbered(7).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_gensim_reads_the_word2vec_export_to_the_bit(tmp_path: Path) -> None:
    e = numbered(6, 33)
    e.save_word2vec(tmp_path / "e.txt")
    loaded = KeyedVectors.load_word2vec_format(str(tmp_path / "e.txt"))
    assert loaded.index_to_key == [str(name) for name in e]
    assert np.array_equal(loaded.vectors, e.vectors)


@pytest.mark.parametrize("name", ["a b", "tab\t", "", "no\u00a0break"])
def test_word2vec_export_refuses_a_name_it_could_not_read_back(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"white space.*\.npz"):
        Embedding(["fine", name], np.eye(2)).save_word2vec(tmp_path / "e.txt")
    assert not list(tmp_path.iterdir())


def write(path: Path, **arrays: NDArray[np.generic]) -> None:
    np.savez(path, **arrays)  # type: ignore[arg-type]


def test_a_file_that_is_no_embedding_is_refused_with_what_was_expected(tmp_path: Path) -> None:
    path = tmp_path / "e.npz"
    expected = "arrays 'nodes' and 'vectors'"
    with pytest.raises(InputError, match=f"no such file.*{expected}"):
        Embedding.load(path)
    for content in (b"", b"not a zip", b"PK\x03\x04 cut short"):
        path.write_bytes(content)
        with pytest.raises(InputError, match=expected):
            Embedding.load(path)
    write(path, vectors=np.eye(2))
    with pytest.raises(InputError, match=f"{expected}.*nodes"):
        Embedding.load(path)
    write(path, nodes=np.array([1, 2, 3]), vectors=np.eye(2))
    with pytest.raises(InputError, match=r"one row of numbers per name"):
        Embedding.load(path)
    np.save(path.with_suffix(".npy"), np.eye(2))
    with pytest.raises(InputError, match=expected):
        Embedding.load(path.with_suffix(".npy"))
    with pytest.raises(InputError, match=expected):
        Embedding.load(tmp_path)


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "e.npz"
    numbered(50, 50).save(path)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(InputError, match="expected"):
        Embedding.load(path)


def test_what_is_not_one_finite_row_per_unique_name_is_refused() -> None:
    with pytest.raises(InputError, match="one row of numbers per name"):
        Embedding([1, 2], np.eye(3))
    with pytest.raises(InputError, match="one row of numbers per name"):
        Embedding([1, 2], [1.0, 2.0])
    with pytest.raises(InputError, match="vertex 7 appears more than once"):
        Embedding([7, 1, 7], np.eye(3))
    with pytest.raises(InputError, match="vector of vertex b contains a number that isn't finite"):
        Embedding(["a", "b"], [[1.0, 2.0], [np.nan, 0.0]])
    with pytest.raises(InputError, match="integers or text"):
        Embedding([1.5, 2.5], np.eye(2))


def test_no_vertices_at_all_are_an_embedding_too() -> None:
    assert len(Embedding([], np.empty((0, 3)))) == 0


@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), unique=True, max_size=8))
def test_every_name_finds_its_own_row(names: list[str]) -> None:
    e = Embedding(np.array(names, dtype=str), np.arange(len(names))[:, None])
    assert [float(e[name][0]) for name in names] == list(range(len(names)))
