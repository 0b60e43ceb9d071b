"""Bad input: one line on standard error, exit code 2, nothing on standard output, nothing lost."""

from pathlib import Path

import pytest

from conftest import SMALL, Command, Outcome


def assert_error(outcome: Outcome, *parts: str) -> None:
    assert outcome.code == 2
    assert outcome.out == ""
    assert "Traceback" not in outcome.err
    last = outcome.err.splitlines()[-1]
    assert last.startswith("fedwalk: error: ")
    assert outcome.err.count("error: ") == 1
    for part in parts:
        assert part in last


GRAPHS = {
    "empty": ("", ["no edges", "vert"]),
    "only comments": ("# nothing\n\n", ["g.edges"]),
    "one column": ("1 2\n3\n", ["g.edges", "line 2"]),
    "a word as weight": ("1 2\n2 3 heavy\n", ["g.edges", "line 2", "heavy"]),
    "one vertex": ("7 7\n", ["has 1 vertex", "at least two"]),
    "no edges": ("7 7\n8 8\n", ["no edges"]),
}


@pytest.mark.parametrize("case", GRAPHS)
def test_an_unusable_graph_is_named(case: str, fedwalk: Command, tmp_path: Path) -> None:
    content, parts = GRAPHS[case]
    graph = tmp_path / "g.edges"
    graph.write_text(content)
    outcome = fedwalk("embed", graph, "-o", tmp_path / "run", *SMALL)
    assert_error(outcome, *(parts if case != "empty" else ["g.edges"]))
    assert not (tmp_path / "run").exists()


def test_a_missing_or_binary_graph_is_named(fedwalk: Command, tmp_path: Path) -> None:
    assert_error(fedwalk("embed", tmp_path / "no.edges", "-o", tmp_path / "run"), "no.edges", "no such file")
    assert_error(fedwalk("embed", tmp_path, "-o", tmp_path / "run"), "a folder, not a file")
    (tmp_path / "g.mat").write_bytes(b"not a mat file at all")
    assert_error(fedwalk("embed", tmp_path / "g.mat", "-o", tmp_path / "run"), "g.mat")
    (tmp_path / "g.edges").write_bytes(b"1 2\n\xff\xfe 3\n")
    assert_error(fedwalk("embed", tmp_path / "g.edges", "-o", tmp_path / "run"), "g.edges", "line 2")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("flags", "part"),
    [
        (("--epsilon", 0), "epsilon = 0"),
        (("--epsilon", -1), "epsilon = -1"),
        (("--epsilon", "nan"), "epsilon = nan"),
        (("--epsilon", "inf"), "epsilon = inf"),
        (("--epsilon", "1e-40"), "epsilon = 1e-40"),
        (("--predict", -0.1), "predict = -0.1"),
        (("--predict", 1.01), "predict = 1.01"),
        (("--walk-length", 2), "walk-length = 2 with predict = 0.2"),
        (("--walk-length", 0), "walk-length = 0"),
        (("--num-bins", 61), "bins = 61"),
        (("--num-bins", 0), "bins = 0"),
        (("--num-walks", 0), "walks = 0"),
        (("--dim", 0), "dim = 0"),
        (("--dim", 10**30), "dim = 1"),
        (("--seed", -1), "seed = -1"),
        (("--threads", 0), "threads = 0"),
        (("--protocol", "deepwalk", "--runtime", "stepwise"), "--runtime: protocol deepwalk doesn't read runtime"),
    ],
)
def test_a_setting_out_of_range_is_named(
    flags: tuple[object, ...], part: str, fedwalk: Command, network_file: Path, tmp_path: Path
) -> None:
    assert_error(fedwalk("embed", network_file, "-o", tmp_path / "run", *flags), part)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("content", "part"),
    [
        ("epsilom = 1", "there is no setting 'epsilom'. Did you mean epsilon?"),
        ('num-walks = "three"', "num-walks = 'three': must be a whole number"),
        ('epsilon = "2"', "epsilon = '2': must be a number"),
        ("epsilon = 1" + 400 * "0", "epsilon: must be a finite number"),
        ("predict = true", "predict = True"),
        ("num_walks = [3]", "num-walks = [3]"),
        ("num_walks = ", "is not valid TOML"),
        ("input = 3", "[input]: must be a table"),
        ("[input]\ngraph = 3", "[input]: must be a table"),
        ("[input]\ngrpah = 'x'", "there is no 'grpah' here, only graph, format"),
        ("[num_walks]\ncount = 3", "num-walks = {'count': 3}"),
    ],
)
def test_a_wrong_config_is_named(content: str, part: str, fedwalk: Command, network_file: Path, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text(content)
    assert_error(fedwalk("embed", network_file, "--config", config, "-o", tmp_path / "run"), part)
    assert not (tmp_path / "run").exists()


def test_a_missing_config_or_graph_is_named(fedwalk: Command, tmp_path: Path) -> None:
    assert_error(fedwalk("embed", "--config", tmp_path / "no.toml", "-o", tmp_path / "run"), "no.toml", "can't be read")
    assert_error(fedwalk("embed", "-o", tmp_path / "run"), "no graph")
    config = tmp_path / "config.toml"
    config.write_text('[input]\nformat = "xml"\ngraph = "g.xml"\n')
    assert_error(fedwalk("embed", "--config", config, "-o", tmp_path / "run"), "unknown graph format 'xml'")


def test_a_graph_whose_name_no_settings_file_can_hold_is_refused_at_once(fedwalk: Command, tmp_path: Path) -> None:
    assert_error(fedwalk("embed", "bad\udcff.edges", "-o", tmp_path / "run"), "bad\\udcff.edges", "Rename")


def test_a_folder_that_holds_a_run_is_refused_before_the_graph_is_read(
    fedwalk: Command, network_file: Path, tmp_path: Path
) -> None:
    fedwalk("embed", network_file, "-o", tmp_path, *SMALL)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    outcome = fedwalk("embed", "no.edges", "-o", tmp_path, *SMALL)
    assert_error(outcome, "already holds a run (embedding.npz, tree.npz, settings.toml, run.json)", "--force")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_an_output_that_cannot_be_a_folder_is_refused(fedwalk: Command, network_file: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    assert_error(fedwalk("embed", network_file, "-o", tmp_path / "file"), "is a file")
    assert_error(fedwalk("embed", network_file, "-o", tmp_path / "file" / "run"), "can't be made")
    assert_error(fedwalk("demo", "-o", tmp_path / "file"), "file: ")
    assert (tmp_path / "file").read_text() == "mine"


def test_a_run_too_large_for_memory_is_an_error_not_a_traceback(
    fedwalk: Command, network_file: Path, tmp_path: Path
) -> None:
    outcome = fedwalk("embed", network_file, "-o", tmp_path / "run", "--num-walks", 2**31 - 1)
    assert_error(outcome, "not enough memory")
    flags = ("--num-walks", 2**31 - 1, "--walk-length", 2**31 - 1)
    outcome = fedwalk("embed", network_file, "-o", tmp_path / "more", *flags)
    assert_error(outcome, "need more memory than can be addressed")


def test_resuming_with_other_settings_or_another_graph_names_the_difference(
    fedwalk: Command, network_file: Path, tmp_path: Path
) -> None:
    run, other = tmp_path / "run", tmp_path / "other.edges"
    other.write_text("1 2\n2 3\n")
    fedwalk("embed", network_file, "-o", run, *SMALL)
    outcome = fedwalk("embed", network_file, "-o", run, *SMALL, "--resume", "--window", 3)
    assert_error(outcome, "began with window = 10, now it is 3")
    assert_error(fedwalk("embed", other, "-o", run, *SMALL, "--num-bins", 3, "--resume"), "another graph")
    assert fedwalk("embed", network_file, "-o", run, *SMALL, "--resume").code == 0


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--protocol", "deepwalk", "--epsilon", 3), "--epsilon: protocol deepwalk doesn't read epsilon. Leave it "),
        (("--protocol", "ldp", "--predict", 0.2), "--predict: protocol ldp doesn't read predict. Leave it out"),
        (("--protocol", "ldp", "--preset", "frugal"), "--preset frugal: protocol ldp doesn't read burst. Leave it out"),
    ],
)
def test_a_flag_that_the_protocol_does_not_read_is_refused(
    flags: tuple[object, ...], message: str, fedwalk: Command, network_file: Path, tmp_path: Path
) -> None:
    assert_error(fedwalk("embed", network_file, "-o", tmp_path / "run", *flags), message)
    assert not (tmp_path / "run").exists()


def test_a_file_with_a_setting_that_the_protocol_does_not_read_is_named(
    fedwalk: Command, network_file: Path, tmp_path: Path
) -> None:
    (tmp_path / "s.toml").write_text('protocol = "ldp"\nnum-bins = 3\n')
    outcome = fedwalk("embed", network_file, "-o", tmp_path / "run", "--config", tmp_path / "s.toml", "--epsilon", 4)
    assert_error(outcome, f"{tmp_path}/s.toml: protocol ldp doesn't read num-bins. Leave it out; paper reads it.")
