"""The Embedding value: lookup, similarity, files, and what it refuses."""

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from gensim.models import KeyedVectors
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.utils import check_array

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
    with pytest.raises(KeyError, match="no node 'alise' among 2; close to it: alice"):
        e["alise"]
    with pytest.raises(KeyError, match="no node 99 among 2"):
        e.most_similar(99)


def test_most_similar_ranks_by_cosine_and_leaves_the_vertex_itself_out() -> None:
    e = Embedding(list("abcd"), [[1, 0], [5, 5], [-1, 0], [9, 1]])
    names, cosines = zip(*e.most_similar("a"), strict=True)
    assert names == ("d", "b", "c")
    np.testing.assert_allclose(cosines, [9 / np.sqrt(82), np.sqrt(0.5), -1], rtol=1e-6)
    assert e.most_similar("a", topn=1) == e.most_similar("a")[:1]
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
    e.save(tmp_path / "e.txt")
    loaded = KeyedVectors.load_word2vec_format(str(tmp_path / "e.txt"))
    assert loaded.index_to_key == [str(name) for name in e]
    assert np.array_equal(loaded.vectors, e.vectors)


@pytest.mark.parametrize("name", ["a b", "tab\t", "no\u00a0break"])
def test_word2vec_export_refuses_a_name_it_could_not_read_back(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"white space.*\.npz"):
        Embedding(["fine", name], np.eye(2)).save(tmp_path / "e.txt")
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
    with pytest.raises(InputError, match=r"one row of numbers per node"):
        Embedding.load(path)
    np.save(path.with_suffix(".npy"), np.eye(2))
    with pytest.raises(InputError, match=r"unknown suffix '.npy'.*\.npz, \.parquet, \.csv"):
        Embedding.load(path.with_suffix(".npy"))
    with pytest.raises(InputError, match="holds no finished run"):
        Embedding.load(tmp_path / "..")


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "e.npz"
    numbered(50, 50).save(path)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(InputError, match="expected"):
        Embedding.load(path)


def test_what_is_not_one_finite_row_per_unique_name_is_refused() -> None:
    with pytest.raises(InputError, match="one row of numbers per node"):
        Embedding([1, 2], np.eye(3))
    with pytest.raises(InputError, match="one row of numbers per node"):
        Embedding([1, 2], [1.0, 2.0])
    with pytest.raises(InputError, match="node 7 appears more than once"):
        Embedding([7, 1, 7], np.eye(3))
    with pytest.raises(InputError, match="vector of node b contains a number that isn't finite"):
        Embedding(["a", "b"], [[1.0, 2.0], [np.nan, 0.0]])
    with pytest.raises(InputError, match="integers, text or objects"):
        Embedding(np.array([1.5, 2.5]), np.eye(2))


def test_no_vertices_at_all_are_an_embedding_too() -> None:
    assert len(Embedding([], np.empty((0, 3)))) == 0


@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), unique=True, max_size=8))
def test_every_name_finds_its_own_row(names: list[str]) -> None:
    e = Embedding(np.array(names, dtype=str), np.arange(len(names))[:, None])
    assert [float(e[name][0]) for name in names] == list(range(len(names)))


OBJECTS: list[Hashable] = [(0, 1), "b", 3, frozenset({4}), ("x", (2,))]


def test_numpy_sees_the_vectors_and_not_the_nodes() -> None:
    e = numbered(6, 3)
    assert np.asarray(e) is e.vectors
    assert np.array(e, np.float64).dtype == np.float64
    assert np.array(e) is not e.vectors
    np.testing.assert_array_equal(np.stack([e, e])[1], e.vectors)
    np.testing.assert_array_equal(check_array(e), e.vectors)
    np.testing.assert_array_equal(pd.DataFrame(e), e.vectors)
    with pytest.raises(ValueError, match="copied"):
        e.__array__(np.float64, copy=False)


def test_nodes_of_any_kind_are_found_and_come_back_as_they_were() -> None:
    e = Embedding(OBJECTS, np.eye(5))
    assert list(e) == OBJECTS
    assert [e[node].argmax() for node in OBJECTS] == [0, 1, 2, 3, 4]
    assert e[[("x", (2,)), "b"]].argmax(axis=1).tolist() == [4, 1]
    assert (0, np.int64(1)) in e
    assert e["(0, 1)"].argmax() == 0
    assert [0, 1] not in e


@pytest.mark.parametrize("nodes", [np.array([1, 2]), np.array(["a", "b"]), np.array(["a", (1, 2)], dtype=object)])
def test_an_embedding_has_its_own_copy_of_the_nodes(nodes: Any) -> None:
    nodes.flags.writeable = False
    e = Embedding(nodes, np.eye(2))
    assert e.nodes.tolist() == nodes.tolist()
    assert e.nodes.flags.writeable
    assert not np.shares_memory(e.nodes, nodes)


def test_a_truth_value_is_no_node_of_an_embedding_of_integers() -> None:
    e = Embedding([1, 2], np.eye(2))
    for value in (True, np.True_):
        assert value not in e


def test_several_nodes_at_once_may_be_a_list_an_array_or_a_series() -> None:
    e = Embedding(["c", "a", "b"], np.eye(3))
    for nodes in (["b", "c"], np.array(["b", "c"]), pd.Series(["b", "c"]), pl.Series(["b", "c"]), pd.Index(["b", "c"])):
        assert e[nodes].argmax(axis=1).tolist() == [2, 0]
    assert e[[]].shape == (0, 3)
    assert e[np.array("b")].argmax() == 2
    with pytest.raises(TypeError, match="indexed by nodes"):
        e[0:2]


def test_integers_beyond_64_bits_are_kept() -> None:
    for nodes in (np.array([2**63 + 5, 1], np.uint64), [2**63 + 5, 1]):
        e = Embedding(nodes, np.eye(2))
        assert list(e) == [2**63 + 5, 1]
        assert e[2**63 + 5].argmax() == 0


def test_frames_pair_every_node_with_its_row() -> None:
    e = Embedding(OBJECTS, np.random.default_rng(0).normal(size=(5, 3)))
    frame = e.to_pandas()
    assert list(frame.index) == OBJECTS
    np.testing.assert_array_equal(frame.to_numpy(), e.vectors)
    other = e.to_polars()
    assert other["node"].to_list() == [str(node) for node in OBJECTS]
    np.testing.assert_array_equal(other.drop("node").to_numpy(), e.vectors)
    assert Embedding([3, 1], np.eye(2)).to_polars()["node"].to_list() == [3, 1]


FILES = ["e.npz", "e.parquet", "e.csv", "e.txt", "e.vec", "e.bin", "e.tsv"]
EVERYWHERE = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=5)


@pytest.mark.parametrize("file", FILES)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_every_format_reads_back_what_it_wrote(tmp_path: Path, file: str, data: st.DataObject) -> None:
    names: list[Any] = data.draw(
        st.lists(EVERYWHERE, min_size=1, max_size=6, unique=True)
        | st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=6, unique=True)
    )
    dim = data.draw(st.integers(1, 4))
    values = st.floats(width=32, allow_nan=False, allow_infinity=False)
    row = st.lists(values, min_size=dim, max_size=dim)
    vectors = data.draw(st.lists(row, min_size=len(names), max_size=len(names)))
    e = Embedding(names, vectors)
    e.save(tmp_path / file)
    loaded = Embedding.load(tmp_path / file)
    assert np.array_equal(loaded.vectors, e.vectors)
    # Text formats can't tell the text "7" from the integer 7.
    assert list(map(str, loaded)) == list(map(str, e))
    if file in ("e.npz", "e.parquet"):
        assert list(loaded) == names


@pytest.mark.parametrize("name", ["a b", "tab\t", "line\nfeed", 'quo"te', "com,ma"])
def test_a_name_is_written_so_that_it_reads_back_or_refused(tmp_path: Path, name: str) -> None:
    e = Embedding(["fine", name], np.eye(2))
    for file in FILES:
        words, line = file in ("e.txt", "e.vec", "e.bin"), file == "e.tsv"
        if (words and name.split() != [name]) or (line and ("\t" in name or "\n" in name)):
            with pytest.raises(InputError, match="save the embedding as"):
                e.save(tmp_path / file)
            assert not (tmp_path / file).exists()
        else:
            e.save(tmp_path / file)
            assert list(Embedding.load(tmp_path / file)) == ["fine", name]


def test_gensim_reads_the_binary_format_too_and_its_file_is_read(tmp_path: Path) -> None:
    e = numbered(6, 33)
    e.save(tmp_path / "e.bin")
    loaded = KeyedVectors.load_word2vec_format(str(tmp_path / "e.bin"), binary=True)
    assert loaded.index_to_key == [str(name) for name in e]
    assert np.array_equal(loaded.vectors, e.vectors)
    loaded.save_word2vec_format(str(tmp_path / "gensim.bin"), binary=True)
    loaded.save_word2vec_format(str(tmp_path / "gensim.txt"), binary=False)
    for file in ("gensim.bin", "gensim.txt"):
        again = Embedding.load(tmp_path / file)
        assert list(again) == list(e)
        np.testing.assert_allclose(again.vectors, e.vectors, rtol=1e-6)


@pytest.mark.parametrize("file", FILES[1:])
@pytest.mark.parametrize("content", [b"", b"3 4\n", b"node,0\na,b\n", b"\x00\xff\xfe", b"9999999 300\na b\n"])
def test_a_damaged_file_of_any_format_is_named(tmp_path: Path, file: str, content: bytes) -> None:
    (tmp_path / file).write_bytes(content)
    with pytest.raises(InputError, match=str(tmp_path / file)):
        Embedding.load(tmp_path / file)


@pytest.mark.parametrize("file", ["e", "e.xlsx", "e.txt.gz"])
def test_an_unknown_suffix_is_refused_with_the_known_ones(tmp_path: Path, file: str) -> None:
    with pytest.raises(InputError, match=r"unknown suffix.*\.npz, \.parquet"):
        numbered().save(tmp_path / file)
    assert not list(tmp_path.iterdir())


def test_repr_is_short_and_html_escapes_and_shortens() -> None:
    e = Embedding(["<b>", *map(str, range(9))], np.ones((10, 20)))
    assert repr(e) == "Embedding(10 nodes, 20 dimensions)"
    html = e._repr_html_()
    assert "&lt;b&gt;" in html
    assert html.count("<tr>") == 7
    assert repr(Embedding([1], [[1.0]])) == "Embedding(1 node, 1 dimension)"
