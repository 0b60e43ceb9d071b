"""Files of every format: what is written is read again, and what a file is decides its suffix and its content."""

import bz2
import gzip
import json
import subprocess
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from scipy import io as scipy_io
from scipy import sparse

from fedwalk.errors import FedWalkWarning, InputError
from fedwalk.graph import Graph, load_graph, sources
from fedwalk.graph.formats import FORMATS, arrow_text
from fedwalk.graph.formats.recognise import SUFFIXES, look
from helpers.graph_files import same_graph

one_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)


def weighted_edges(vertices: int = 8) -> st.SearchStrategy[dict[tuple[int, int], float]]:
    """Distinct undirected edges with weights that every format holds exactly."""
    ends = st.tuples(st.integers(0, vertices - 1), st.integers(0, vertices - 1)).filter(lambda pair: pair[0] < pair[1])
    return st.dictionaries(ends, st.integers(1, 40).map(lambda number: number / 4), min_size=1)


def as_networkx(edges: dict[tuple[int, int], float]) -> Any:
    graph = nx.Graph()
    graph.add_nodes_from(range(8))
    graph.add_weighted_edges_from((u, v, weight) for (u, v), weight in edges.items())
    return graph


def as_table(edges: dict[tuple[int, int], float]) -> pa.Table:
    source, target = ([pair[end] for pair in edges] for end in (0, 1))
    return pa.table({"row": range(len(edges)), "source": source, "target": target, "weight": list(edges.values())})


def write_csv(edges: dict[tuple[int, int], float], path: Path) -> None:
    lines = [f"{number},{u},{v},{weight}\n" for number, ((u, v), weight) in enumerate(edges.items())]
    path.write_text("row,Source,Target,Weight\n" + "".join(lines))


def write_mtx(edges: dict[tuple[int, int], float], path: Path) -> None:
    scipy_io.mmwrite(path, nx.to_scipy_sparse_array(as_networkx(edges)))


WRITERS: dict[str, Callable[[dict[tuple[int, int], float], Path], Any]] = {
    ".edges": lambda edges, path: nx.write_weighted_edgelist(as_networkx(edges), path),
    ".txt": lambda edges, path: nx.write_edgelist(as_networkx(edges), path),
    ".csv": write_csv,
    ".parquet": lambda edges, path: parquet.write_table(as_table(edges), path),
    ".graphml": lambda edges, path: nx.write_graphml(as_networkx(edges), path),
    ".gml": lambda edges, path: nx.write_gml(as_networkx(edges), path),
    ".json": lambda edges, path: path.write_text(json.dumps(nx.node_link_data(as_networkx(edges), edges="links"))),
    ".mtx": write_mtx,
    ".npz": lambda edges, path: sparse.save_npz(path, nx.to_scipy_sparse_array(as_networkx(edges))),
    ".mat": lambda edges, path: scipy_io.savemat(path, {"network": nx.to_scipy_sparse_array(as_networkx(edges))}),
}
LISTS_NODES = (".graphml", ".gml", ".json", ".mtx", ".npz", ".mat")


def weights_of(graph: Graph) -> dict[tuple[int, int], float]:
    """The weight of each edge by its ends."""
    values = np.ones(len(graph.indices)) if graph.weights is None else graph.weights
    rows = np.repeat(graph.names, graph.degrees)
    triples: Any = zip(rows.tolist(), graph.names[graph.indices].tolist(), values.tolist(), strict=True)
    return {(int(u), int(v)): weight for u, v, weight in triples if u < v}


@pytest.mark.parametrize("suffix", list(WRITERS))
@one_folder
@given(edges=weighted_edges())
def test_every_format_returns_what_was_written(
    tmp_path: Path, suffix: str, edges: dict[tuple[int, int], float]
) -> None:
    path = tmp_path / f"graph{suffix}"
    WRITERS[suffix](edges, path)
    graph = load_graph(path)
    assert weights_of(graph) == edges
    if suffix in LISTS_NODES:
        assert graph.nodes == list(range(8))
    elif suffix != ".txt" and suffix != ".edges":  # networkx writes edges in its own order
        assert graph.nodes == list(dict.fromkeys(end for pair in edges for end in pair))


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}


@pytest.mark.parametrize("packing", list(PACKERS))
@pytest.mark.parametrize("suffix", list(WRITERS))
def test_every_format_is_read_compressed(tmp_path: Path, suffix: str, packing: str) -> None:
    path = tmp_path / f"graph{suffix}"
    WRITERS[suffix]({(0, 1): 2.0, (1, 2): 0.5}, path)
    packed = tmp_path / f"graph{suffix}{packing}"
    packed.write_bytes(PACKERS[packing](path.read_bytes()))
    assert same_graph(load_graph(packed), load_graph(path))
    packed.write_bytes(packed.read_bytes()[:-6])
    with pytest.raises(InputError, match=r"graph\.\w+\.\w+, line \d+: the \w+ file is truncated"):
        load_graph(packed)


@pytest.mark.parametrize("suffix", list(WRITERS))
def test_standard_input_is_recognised_by_its_content(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"graph{suffix}"
    WRITERS[suffix]({(0, 1): 2.0, (1, 2): 0.5}, path)
    code = "import fedwalk; print(fedwalk.load_graph('-').fingerprint())"
    with path.open("rb") as file:
        printed = subprocess.run([sys.executable, "-c", code], stdin=file, capture_output=True, check=True, text=True)
    assert printed.stdout.strip() == load_graph(path).fingerprint()


EMPTY_JSON = gzip.compress(b"{}", mtime=0)
"""Without a time: each of the tests' processes has to find the same tests."""


@pytest.mark.parametrize(
    ("suffix", "content", "problem"),
    [
        (
            ".txt",
            b"%%MatrixMarket matrix coordinate real general\n1 1 0\n",
            "content is Matrix Market.*format mtx",
        ),
        (".edges", b'\xef\xbb\xbf {"nodes": []}', "content is JSON.*--format nodelink"),
        (".csv", b'<?xml version="1.0"?>\n<graphml></graphml>', "content is GraphML"),
        (".txt", b'Creator "x"\ngraph [\n node [ id 1 ] ]', "content is GML"),
        (".csv", b"PAR1\0\0", "content is Parquet"),
        (".txt", b"PK\x03\x04abc", "content is a .npz archive"),
        (".txt", b"MATLAB 5.0 MAT-file", "content is a MATLAB file"),
        (".txt", b"\x89HDF\r\n", "an HDF5 file, which can't be read; export"),
        (".txt", b"\x93NUMPY\1\0", "numpy.load"),
        (".txt", b"\x80\x04\x95abc", "pickle"),
        (".csv", b"PK\x03\x04\0\0[Content_Types].xml", "Excel workbook.*as CSV"),
        (".txt", b"digraph g {\n a -> b\n}", "Graphviz DOT"),
        (".txt", b"*Vertices 3\n", "Pajek"),
        (".graphml", b"<?xml version='1.0'?><gexf></gexf>", "GEXF"),
        (".json", b"1 2\n2 3\n", "means JSON, but the content begins with"),
        (".mtx", b"1 2\n2 3\n", "means Matrix Market, but the content begins with"),
        (".graph", b"1 2\n", r"suffix \.graph is unknown\. Known are \.edges, .*\.npz, each also with \.gz.*--format"),
        (".xyz.gz", EMPTY_JSON, r"suffix \.xyz is unknown; its content is JSON, so give --format nodelink"),
        ("", b"1 2\n", "name has no suffix"),
    ],
)
def test_content_that_contradicts_the_suffix_is_refused(
    tmp_path: Path, suffix: str, content: bytes, problem: str
) -> None:
    path = tmp_path / f"graph{suffix}"
    path.write_bytes(content)
    with pytest.raises(InputError, match=problem) as caught:
        load_graph(path)
    assert str(caught.value).startswith(str(path))


def test_format_overrides_an_unknown_suffix(tmp_path: Path) -> None:
    path = tmp_path / "graph.xyz"
    path.write_text("1 2\n2 3\n")
    assert load_graph(path, format="edgelist").edges == 2


def test_every_suffix_belongs_to_a_format() -> None:
    assert set(SUFFIXES.values()) == set(FORMATS)


@given(st.binary(max_size=60))
def test_looking_at_any_bytes_fails_never(data: bytes) -> None:
    assert look(data) is None or isinstance(look(data), str)


@pytest.mark.parametrize("suffix", [".json", ".graphml", ".gml", ".mtx", ".parquet", ".csv", ".txt"])
@one_folder
@given(data=st.data())
def test_a_damaged_file_is_an_input_error(tmp_path: Path, suffix: str, data: st.DataObject) -> None:
    path = tmp_path / f"graph{suffix}"
    WRITERS[suffix]({(0, 1): 2.0, (1, 2): 0.5}, path)
    content = bytearray(path.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.integers(1, len(content)))])
    # A damaged file may still be a graph, even a directed one; anything else must be an InputError.
    with suppress(InputError), warnings.catch_warnings(action="ignore", category=FedWalkWarning):
        load_graph(path)


@pytest.mark.parametrize("line", ["0 5 {}", "0 5 {'weight': 2.0}", "0,5,{'weight': 2.0, 'color': 'red'}", "0\t5\t{}"])
def test_lines_of_networkx_write_edgelist(tmp_path: Path, line: str) -> None:
    path = tmp_path / "graph.edgelist"
    path.write_text(f"# by networkx\n{line}\n")
    graph = load_graph(path)
    assert graph.nodes == [0, 5]
    assert (graph.weights is not None) == ("weight" in line)
    assert graph.notes == (("the edge attributes 'color' were ignored",) if "color" in line else ())


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("0 1 {}\n1 2\n", 2, "expected 'vertex vertex {attributes}', found '1 2'"),
        ("0 1 {}\n1 2 {x}\n", 2, "isn't a dictionary of attributes"),
        ("0 1 {}\n1 2 {'weight': -1}\n", 2, "the weight -1 isn't a finite number"),
        ("0 1 {}\n1 2 3 {}\n", 2, "expected 'vertex vertex"),
    ],
)
def test_malformed_lines_of_networkx_are_named(tmp_path: Path, text: str, line: int, problem: str) -> None:
    path = tmp_path / "graph.edgelist"
    # Enough good lines first, so that the file is recognised.
    path.write_text("8 9 {}\n" * 50 + text)
    with pytest.raises(InputError, match=problem) as caught:
        load_graph(path)
    assert f"line {50 + line}" in str(caught.value)


TABLE = "when,follower,followed,strength\n2020,ann,bob,2\n2021,bob,cy,3\n"


def test_columns_are_chosen_by_name(tmp_path: Path) -> None:
    path = tmp_path / "graph.csv"
    path.write_text(TABLE)
    graph = load_graph(path, source="follower", target="followed", weight="strength")
    assert graph.weights is not None
    assert (graph.nodes, graph.weights.tolist()) == (["ann", "bob", "cy"], [2, 2, 3, 3])
    assert "the column 'when' was ignored" in graph.notes
    assert load_graph(path, source="follower", target="followed").weights is None


@pytest.mark.parametrize(
    ("choice", "problem"),
    [
        ({"source": "follower", "target": "no"}, "no column 'no' .--target.; the columns"),
        ({"source": "when", "target": "when"}, "both ends"),
        ({"source": "x", "target": "y"}, "line 1: no header with a column 'x'; the line is 'when"),
        ({"source": "follower"}, "--source alone isn't enough"),
        (
            {"source": "follower", "target": "followed", "weight": "no"},
            "no column 'no' .--weight.; the columns",
        ),
        ({}, "found 4 columns.*a table needs a header"),
    ],
)
def test_columns_that_are_not_there_are_named(tmp_path: Path, choice: dict[str, str], problem: str) -> None:
    path = tmp_path / "graph.csv"
    path.write_text(TABLE)
    with pytest.raises(InputError, match=problem):
        load_graph(path, **choice)


def test_a_third_column_is_a_weight_only_if_its_name_says_so(tmp_path: Path) -> None:
    path = tmp_path / "graph.csv"
    path.write_text("source,target,timestamp\n1,2,1577836800\n2,3,1577836801\n")
    graph = load_graph(path)
    assert graph.weights is None
    assert "the column 'timestamp' was ignored" in graph.notes


names_of_cells = st.one_of(st.integers(0, 30).map(str), st.sampled_from(["07", "a b", "é", 'q"t', "x,y", "1.0", "+3"]))


@one_folder
@given(
    st.lists(st.tuples(names_of_cells, names_of_cells, st.integers(0, 9)), min_size=1, max_size=30),
    st.sampled_from([b",", b"\t", b";"]),
    st.booleans(),
)
def test_arrow_and_the_careful_reader_agree(
    tmp_path: Path, rows: list[tuple[str, str, int]], separator: bytes, header: bool
) -> None:
    mark = separator.decode()

    def quoted(name: str) -> str:
        return name if mark == "\t" else '"' + name.replace('"', '""') + '"'

    lines = [mark.join((quoted(u), quoted(v), str(weight))) for u, v, weight in rows]
    path = tmp_path / "graph.csv"
    path.write_text("\n".join([mark.join(("source", "target", "weight")), *lines] if header else lines))
    careful = load_graph(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrow_text, "_MIN_BYTES", 0)
        fast = load_graph(path)
    assert fast.fingerprint() == careful.fingerprint()
    assert fast.notes == careful.notes


def test_a_large_table_is_read_by_arrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "graph.csv"
    pairs = np.random.default_rng(0).integers(0, 3000, (150_000, 2))
    path.write_text("source,target\n" + "".join(f"{u},{v}\n" for u, v in pairs.tolist()))
    monkeypatch.setattr("fedwalk.graph.formats.edgelist._read_carefully", None)
    assert same_graph(load_graph(path), load_graph(pairs.tolist()))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('{"nodes": [], "links": []}', "expected node-link JSON"),
        ('{"a": 1}', "found an object with 'a'"),
        ('{"nodes": [{"id": 1}, {"id": 1}], "links": []}', "node 1 has the same id"),
        ('{"nodes": [{"id": 1}], "links": [{"source": 1}]}', "edge 0 has no 'target'"),
        ('{"nodes": [{"id": 1}], "edges": [{"source": 1, "target": 2}]}', "target 2 of edge 0 isn't the id of a node"),
        ('{"nodes": [\n{"id": 1},\n}', "line 3: not readable as JSON"),
    ],
)
def test_json_that_is_no_graph_is_refused(tmp_path: Path, content: str, problem: str) -> None:
    path = tmp_path / "graph.json"
    path.write_text(content)
    with pytest.raises(InputError, match=problem):
        load_graph(path)


def test_json_keeps_its_types_and_both_keys_of_edges_are_read(tmp_path: Path) -> None:
    source = nx.Graph([("1", (2, 3)), ((2, 3), 4)])
    for key in ("links", "edges"):
        path = tmp_path / f"{key}.json"
        path.write_text(json.dumps(nx.node_link_data(source, edges=key)))
        assert load_graph(path).nodes == ["1", (2, 3), 4]


@pytest.mark.parametrize("suffix", [".graphml", ".gml", ".json"])
def test_a_node_attribute_can_be_the_label(tmp_path: Path, suffix: str) -> None:
    source = nx.karate_club_graph()
    path = tmp_path / f"karate{suffix}"
    if suffix == ".json":
        path.write_text(json.dumps(nx.node_link_data(source, edges="links")))
    else:
        (nx.write_graphml if suffix == ".graphml" else nx.write_gml)(source, path)
    graph = load_graph(path, labels="attribute:club")
    assert graph.labels is not None
    assert [graph.labels.of(vertex) for vertex in range(34)] == [(source.nodes[node]["club"],) for node in source]
    with pytest.raises(InputError, match=r"no node has the attribute 'team'; the node attributes are: .*'club'"):
        load_graph(path, labels="attribute:team")


def test_other_edge_attributes_can_be_the_weight_and_are_noted_otherwise(tmp_path: Path) -> None:
    path = tmp_path / "graph.gml"
    path.write_text("graph [ node [ id 1 ] node [ id 2 ] edge [ source 1 target 2 value 7 ] ]")
    graph = load_graph(path)
    assert (graph.nodes, graph.weights) == ([1, 2], None)
    assert graph.notes == ("the edge attributes 'value' were ignored; --weight makes one the weight",)
    chosen = load_graph(path, weight="value").weights
    assert chosen is not None
    assert chosen.tolist() == [7, 7]


def test_a_directed_file_warns(tmp_path: Path) -> None:
    nx.write_graphml(nx.DiGraph([(0, 1)]), tmp_path / "arcs.graphml")
    with pytest.warns(FedWalkWarning, match=r"arcs\.graphml: directed edges"):
        load_graph(tmp_path / "arcs.graphml")


@pytest.mark.parametrize(
    ("choice", "problem"),
    [
        ({"source": "a", "target": "b"}, "--source and --target name columns of a table, but the file is mtx"),
        ({"weight": "a"}, "--weight names a column or an edge attribute"),
        ({"labels": "attribute:a"}, "mtx has no node attributes"),
    ],
)
def test_choices_that_a_format_cannot_follow_are_refused(tmp_path: Path, choice: dict[str, str], problem: str) -> None:
    write_mtx({(0, 1): 1.0}, tmp_path / "graph.mtx")
    with pytest.raises(InputError, match=problem):
        load_graph(tmp_path / "graph.mtx", **choice)


@pytest.mark.parametrize(
    ("suffix", "missing"), [(".parquet", "pyarrow"), (".graphml", "networkx"), (".csv.zst", "zstandard")]
)
def test_a_missing_library_is_named_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, missing: str
) -> None:
    path = tmp_path / f"graph{suffix}"
    if suffix == ".csv.zst":
        path.write_bytes(PACKERS[".zst"](b"1,2\n"))
    else:
        WRITERS[suffix]({(0, 1): 1.0}, path)
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(InputError, match=rf"needs {missing}: pip install .*\[formats\]"):
        load_graph(path)


def test_a_rectangular_matrix_is_refused_with_advice(tmp_path: Path) -> None:
    scipy_io.mmwrite(tmp_path / "graph.mtx", sparse.coo_array(np.ones((2, 3))))
    with pytest.raises(InputError, match="is it bipartite"):
        load_graph(tmp_path / "graph.mtx")


@pytest.mark.parametrize(
    ("nodes", "weight", "problem"),
    [
        ('[{"id": "a"}, {"id": "b"}]', "1" + 400 * "0", "expected a finite number"),
        ('[{"id": "a"}, {"id": "b"}, {"id": "\\ud800"}]', "1", "half of a surrogate pair"),
    ],
)
def test_json_that_python_can_but_fedwalk_cannot_hold(tmp_path: Path, nodes: str, weight: str, problem: str) -> None:
    path = tmp_path / "graph.json"
    path.write_text(f'{{"nodes": {nodes}, "links": [{{"source": "a", "target": "b", "weight": {weight}}}]}}')
    with pytest.raises(InputError, match=problem):
        load_graph(path)


def test_a_header_that_announces_billions_of_vertices_allocates_nothing(tmp_path: Path) -> None:
    market, archive = tmp_path / "graph.mtx", tmp_path / "graph.npz"
    market.write_text("%%MatrixMarket matrix coordinate pattern general\n2000000000 2000000000 1\n1 2\n")
    sparse.save_npz(archive, sparse.coo_array(([1], ([0], [1])), shape=(2_000_000_000, 2_000_000_000)))
    for path in (market, archive):
        with pytest.raises(InputError, match="2,000,000,000 vertices, but only 1 entry"):
            load_graph(path)


def test_isolated_vertices_are_plausible_up_to_a_limit(tmp_path: Path) -> None:
    market = tmp_path / "graph.mtx"
    market.write_text("%%MatrixMarket matrix coordinate pattern general\n100000 100000 1\n1 2\n")
    with pytest.warns(FedWalkWarning, match="directed"):
        assert load_graph(market).isolated == 99_998


PACK: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".bz2": bz2.compress, ".zst": zstandard.compress}


@pytest.mark.parametrize("suffix", PACK)
def test_a_small_file_that_unpacks_without_end_is_refused(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"graph.txt{suffix}"
    path.write_bytes(PACK[suffix](b"1 2\n" * 100_000))
    assert load_graph(path).edges == 1
    monkeypatch.setattr(sources, "MAX_UNPACKED", 1 << 17)
    monkeypatch.setattr(sources, "MAX_RATIO", 100)
    with pytest.raises(InputError, match="to over 100 times its size"):
        load_graph(path)


def test_zstd_frames_of_any_length_are_read_one_after_the_other(tmp_path: Path) -> None:
    lines = np.random.default_rng(0).integers(0, 9999, (3000, 2)).tolist()
    text = [f"{u} {v}\n" for u, v in lines]
    parts = ["".join(text[:5]), "".join(text[5:2900]), "".join(text[2900:]), ""]
    (tmp_path / "packed.txt.zst").write_bytes(b"".join(zstandard.compress(part.encode()) for part in parts))
    (tmp_path / "plain.txt").write_text("".join(parts))
    assert same_graph(load_graph(tmp_path / "packed.txt.zst"), load_graph(tmp_path / "plain.txt"))


def test_two_gml_nodes_with_one_label(tmp_path: Path) -> None:
    path = tmp_path / "graph.gml"
    path.write_text('graph [ node [ id 0 label "a" ] node [ id 1 label "a" ] edge [ source 0 target 1 ] ]')
    with pytest.raises(InputError, match="give every node a label of its own"):
        load_graph(path)
