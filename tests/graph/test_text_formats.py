"""Edge lists and adjacency lists: what is read, and where a malformed file is said to be malformed."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fedwalk.errors import InputError
from fedwalk.graph import load_graph
from fedwalk.graph.names import number_nodes
from helpers.graph_files import Pairs, edge_lists, named_edges, neighbour_lists, reference, same_graph

SEPARATORS = [" ", "   ", "\t", ",", ", ", ";", " \t "]
NEWLINES = ["\n", "\r\n", "\r"]
one_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def names(inner: str = "") -> st.SearchStrategy[str]:
    """Names that need no quoting, never look like a number, and may hold some `inner` characters."""
    plain = st.characters(exclude_categories=["C", "Z"], exclude_characters=',;"#%')
    text = st.text(st.one_of(plain, st.sampled_from(inner)) if inner else plain, min_size=1, max_size=6)
    return text.map(lambda name: f"n{name}".strip())


def write(path: Path, text: str, packed: bool = False) -> Path:
    data = text.encode()
    path.write_bytes(gzip.compress(data) if packed else data)
    return path


@one_folder
@given(edge_lists(), st.sampled_from(SEPARATORS), st.sampled_from(NEWLINES), st.booleans(), st.booleans())
def test_integer_edge_lists_are_read_whatever_the_separator(
    tmp_path: Path, pairs: Pairs, separator: str, newline: str, packed: bool, comments: bool
) -> None:
    lines = [f"{u * 7 + 3}{separator}{v * 7 + 3}" for u, v in pairs]
    if comments:
        lines = ["# made up", *lines[:1], "", "% and on", *lines[1:]]
    suffix = ".txt.gz" if packed else ".txt"
    graph = load_graph(write(tmp_path / f"graph{suffix}", newline.join(lines), packed))
    present = list(dict.fromkeys(end for pair in pairs for end in pair))
    place = {vertex: number for number, vertex in enumerate(present)}
    expected = reference([(place[u], place[v]) for u, v in pairs], len(present))
    assert graph.names.tolist() == [vertex * 7 + 3 for vertex in present]
    assert neighbour_lists(graph) == expected.neighbours
    assert (graph.cleaning.self_loops, graph.cleaning.repeated_edges) == (
        expected.self_loops,
        expected.repeats,
    )


@one_folder
@given(st.data(), st.sampled_from(SEPARATORS))
def test_any_names_survive_in_an_edge_list(tmp_path: Path, data: st.DataObject, separator: str) -> None:
    name = names(" " if separator.strip(" ") in ("\t", ",", ";") else "")
    pairs = data.draw(st.lists(st.tuples(name, name), min_size=1, max_size=20))
    graph = load_graph(write(tmp_path / "graph.csv", "".join(f"{u}{separator}{v}\n" for u, v in pairs)))
    assert graph.names.tolist() == list(dict.fromkeys(end for pair in pairs for end in pair))
    assert named_edges(graph) == {frozenset(pair) for pair in pairs if pair[0] != pair[1]}


@one_folder
@given(edge_lists(), st.sampled_from([" ", "\t", ",", ";"]), st.booleans())
def test_adjacency_lists_hold_the_same_graph(tmp_path: Path, pairs: Pairs, separator: str, both_ways: bool) -> None:
    neighbours = reference(pairs, 12).neighbours
    rows = [[u, *(v for v in row if both_ways or v > u)] for u, row in enumerate(neighbours)]
    text = "\n".join(separator.join(map(str, row)) for row in rows)
    graph = load_graph(write(tmp_path / "graph.adjlist", text))
    assert graph.names.tolist() == list(dict.fromkeys(vertex for row in rows for vertex in row))
    ids = {name: vertex for vertex, name in enumerate(graph.names.tolist())}
    assert [sorted(graph.names[graph.neighbours(ids[v])].tolist()) for v in range(12)] == neighbours
    assert graph.cleaning.repeated_edges == 0


@given(st.lists(st.integers(-(2**62), 2**62), min_size=1), st.integers(1, 2**60))
def test_integers_are_numbered_in_the_order_of_their_first_appearance(values: list[int], narrow: int) -> None:
    for spread in (1, narrow):
        numbers = [value // spread for value in values]
        distinct, number = number_nodes(np.array(numbers))
        assert distinct.tolist() == list(dict.fromkeys(numbers))
        assert distinct[number].tolist() == numbers


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7 8\n07 8\n", ["7", "8", "07"]),
        ("+7 8\n", ["+7", "8"]),
        ("1.0 2\n", ["1.0", "2"]),
        ("99999999999999999999 1\n", ["99999999999999999999", "1"]),
        ("-5 3\n", [-5, 3]),
        ("10 9\n9 -10", [10, 9, -10]),
        ("1\t2\n1 3\n", [1, 2, 3]),
        ("Ann Lee\tBob Ray\nBob Ray\tCy\n", ["Ann Lee", "Bob Ray", "Cy"]),
        ("Lee,A Ray,B\nRay,B Li,C\n", ["Lee,A", "Ray,B", "Li,C"]),
        ('"Lee, Ann","Ray ""B"""\n"Ray ""B""",Cy\n', ["Lee, Ann", 'Ray "B"', "Cy"]),
        ("\ufeffé ü\n", ["é", "ü"]),
        ("a\u00a0b c\n", ["a\u00a0b", "c"]),
    ],
)
def test_names_are_integers_only_if_all_are_written_as_such(tmp_path: Path, text: str, expected: list[str]) -> None:
    assert load_graph(write(tmp_path / "graph.txt", text)).names.tolist() == expected


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("source,target\na,b\n", "source,target"),
        ("Source;Target;Weight\na;b;1\n", "Source;Target;Weight"),
        ("# by hand\nuser_id,friend_id\n1,2\n", "user_id,friend_id"),
        ("from to\n1 2\n", "from to"),
        ("x\ty\tweight\n1\t2\t1\n", "x\ty\tweight"),
    ],
)
def test_a_header_is_skipped_and_noted(tmp_path: Path, text: str, header: str) -> None:
    graph = load_graph(write(tmp_path / "graph.csv", text))
    assert (graph.vertices, graph.edges) == (2, 1)
    assert graph.notes == (f"the header '{header}' was skipped",)


def test_a_first_edge_between_words_is_no_header(tmp_path: Path) -> None:
    assert load_graph(write(tmp_path / "words.csv", "ann,bob\nbob,cy\n")).edges == 2
    assert load_graph(write(tmp_path / "mixed.txt", "ann bob\n1 2\n")).edges == 2


@pytest.mark.parametrize("weights", [("1", "1"), ("1.0", "1e0")])
def test_weights_of_one_pass_in_silence(tmp_path: Path, weights: tuple[str, str]) -> None:
    graph = load_graph(write(tmp_path / "graph.txt", f"1 2 {weights[0]}\n2 3 {weights[1]}\n"))
    assert (graph.edges, graph.cleaning.weighted) == (2, False)


@pytest.mark.parametrize("weight", ["2", "0.5"])
def test_other_weights_are_kept(tmp_path: Path, weight: str) -> None:
    graph = load_graph(write(tmp_path / "graph.txt", f"1 2 1\n2 3 {weight}\n"))
    assert graph.weights is not None
    assert graph.weights.tolist() == [1.0, 1.0, float(weight), float(weight)]


def test_an_edge_of_weight_zero_is_dropped(tmp_path: Path) -> None:
    graph = load_graph(write(tmp_path / "graph.txt", "1 2 1\n2 3 0\n"))
    assert (graph.edges, graph.isolated, graph.cleaning.zero_weights) == (1, 1, 1)


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("1 2\n3\n", 2, "found 1 column"),
        ("# c\n\n1 2\n1 2 3 4\n", 4, "found 4 columns"),
        ("a,b\nc\n", 2, "found 1 column"),
        ("a,b,c,d\n", 1, "found 4 columns"),
        ("1 2\r\n3 4 x\r\n", 2, "the weight 'x'"),
        ("1 2 1\n3 4 nan\n", 2, "the weight 'nan'"),
        ("1 2 1\n3 4 inf\n", 2, "the weight 'inf'"),
        ("1 2 1\n3 4 -1\n", 2, "the weight '-1'"),
        ("1,2\n,3\n", 2, "empty vertex name"),
        ('a,b\n"c,d\n', 2, "found 1 column"),
        ("a,b,c\n0,1,2\n", 1, "which of the columns 'a', 'b', 'c'"),
        ("source,target,x\na,b,1\na,b\n", 3, "expected 3 columns as in the header, found 2"),
        ("", 1, "no edges"),
        ("\n# nothing\n", 1, "no edges"),
        ("source,target\n", 1, "no edges"),
        ("1 2\n3\0 4\n", 2, "NUL"),
    ],
)
def test_a_malformed_edge_list_is_refused_with_its_line(tmp_path: Path, text: str, line: int, problem: str) -> None:
    path = write(tmp_path / "graph.txt", text)
    with pytest.raises(InputError, match=problem) as caught:
        load_graph(path)
    assert str(caught.value).startswith(f"{path}, line {line}: ")


@pytest.mark.parametrize(("text", "line", "problem"), [("a,b\nc,,d\n", 2, "empty"), ("# no\n", 1, "no vertices")])
def test_a_malformed_adjacency_list_is_refused_with_its_line(
    tmp_path: Path, text: str, line: int, problem: str
) -> None:
    path = write(tmp_path / "graph.adj", text)
    with pytest.raises(InputError, match=problem) as caught:
        load_graph(path)
    assert str(caught.value).startswith(f"{path}, line {line}: ")


def test_an_adjacency_list_keeps_lone_vertices_and_mixed_white_space(tmp_path: Path) -> None:
    graph = load_graph(write(tmp_path / "graph.adj", "# vertex<tab>neighbours\n1\t2 3\n2\t3\n9\n"))
    assert graph.names.tolist() == [1, 2, 3, 9]
    assert (graph.edges, graph.isolated) == (3, 1)


def test_bytes_that_are_not_utf8_are_refused_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "graph.txt"
    path.write_bytes(b"a b\nc d\n" + "é f\n".encode("latin-1"))
    with pytest.raises(InputError, match="line 3: bytes that aren't UTF-8"):
        load_graph(path)


def test_a_truncated_gzip_file_says_how_far_it_was_readable(tmp_path: Path) -> None:
    path = tmp_path / "graph.txt.gz"
    rng = np.random.default_rng(0)
    text = "".join(f"{u} {v}\n" for u, v in rng.integers(0, 10**6, (200_000, 2)))
    path.write_bytes(gzip.compress(text.encode())[:-5000])
    with pytest.raises(InputError, match=r"graph\.txt\.gz, line \d{5,}: the gzip file is truncated"):
        load_graph(path)


def test_a_file_called_gz_must_be_gzipped(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a gzip file"):
        load_graph(write(tmp_path / "graph.txt.gz", "1 2\n"))


def test_a_gzipped_file_is_known_by_its_content(tmp_path: Path) -> None:
    assert load_graph(write(tmp_path / "graph.txt", "1 2\n", packed=True)).edges == 1


def test_a_name_of_absurd_length_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"graph\.txt: a name of 5000 characters"):
        load_graph(write(tmp_path / "graph.txt", f"a {'b' * 5000}\n"))


def test_the_fast_and_the_careful_reader_agree(tmp_path: Path) -> None:
    pairs = np.random.default_rng(1).integers(0, 500, (3000, 2))
    plain = "".join(f"{u} {v}\n" for u, v in pairs)
    fast = load_graph(write(tmp_path / "plain.txt", plain))
    careful = load_graph(write(tmp_path / "weights.txt", plain.replace("\n", " 1.0\n")))
    assert same_graph(fast, careful)
    assert fast.cleaning == careful.cleaning


@pytest.mark.parametrize(
    ("text", "edges", "vertex"),
    [
        ("u v\nv w\nw u\nw x\n", 4, "u"),
        ("from,to\nto,paris\nparis,from\n", 3, "from"),
        ("head\ttail\t2\nhead\tneck\t1\n", 2, "head"),
    ],
)
def test_a_first_edge_between_vertices_named_like_columns_is_kept(
    tmp_path: Path, text: str, edges: int, vertex: str
) -> None:
    graph = load_graph(write(tmp_path / "graph.txt", text))
    assert graph.edges == edges
    assert any(f"is an edge: {vertex!r} is a vertex" in note for note in graph.notes)


def test_a_header_stays_one_if_it_can_be_no_edge_or_its_columns_were_chosen(tmp_path: Path) -> None:
    weighted = write(tmp_path / "weighted.csv", "source,target,weight\nsource,b,2\nb,c,1\n")
    assert load_graph(weighted).names.tolist() == ["source", "b", "c"]
    chosen = write(tmp_path / "chosen.csv", "from,to\nto,paris\nparis,from\n")
    assert load_graph(chosen, source="from", target="to").edges == 2


@pytest.mark.parametrize("filler", [",", ";", ", ", ",{"])
def test_a_long_run_of_separators_is_refused_at_once(tmp_path: Path, filler: str) -> None:
    with pytest.raises(InputError, match="line 1"):
        load_graph(write(tmp_path / "graph.txt", filler * (200_000 // len(filler)) + "\n"))


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("0 1 {'weight': 1" + 400 * "0" + "}", "isn't a finite number"),
        ("0 1 {'weight': 1e400}", "isn't a finite number"),
        ("0 1 {[1]: 2}", "isn't a dictionary of attributes"),
    ],
)
def test_odd_attributes_of_networkx_are_refused_with_their_line(tmp_path: Path, line: str, problem: str) -> None:
    with pytest.raises(InputError, match=f"line 2: .*{problem}"):
        load_graph(write(tmp_path / "graph.txt", f"2 1 {{}}\n{line}\n"))


def test_an_edge_list_of_networkx_has_no_columns_to_choose(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--source and --target name columns"):
        load_graph(write(tmp_path / "graph.txt", "0 1 {}\n1 2 {}\n"), source="a", target="b")


@pytest.mark.parametrize("rows", [1, 200_000])
def test_a_column_of_vertices_is_no_weight(tmp_path: Path, rows: int) -> None:
    text = "source,target\n" + "".join(f"{row},{row + 1}\n" for row in range(rows))
    with pytest.raises(InputError, match=r"'source' \(--weight\) has one end of the edges"):
        load_graph(write(tmp_path / "graph.csv", text), weight="source")


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("source,target\ncats,#dogs\n#dogs,birds\nbirds,cats\n", "1 comment line "),
        ("a b\n#b c\n %c a\nb d\n", "2 comment lines "),
        ("#a b\nb c\n# of no interest\n%\nc a\n", None),
        ("1,2\n2,3\n", None),
    ],
)
def test_comments_that_could_be_edges_are_noted(tmp_path: Path, text: str, count: str | None) -> None:
    notes = [note for note in load_graph(write(tmp_path / "graph.csv", text)).notes if "comment" in note]
    assert len(notes) == (count is not None)
    assert all(note.startswith(f"{count}skipped after the first edge, with as many columns") for note in notes)
