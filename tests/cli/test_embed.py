"""`fedwalk embed`: what it writes and prints, and which of flags, file and defaults wins."""

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest

from conftest import SMALL, Command
from fedwalk.embedding import Embedding


def vectors(run: Path) -> bytes:
    return Embedding.load(run / "embedding.npz").vectors.tobytes()


def test_json_prints_the_record_and_nothing_else(fedwalk: Command, network_file: Path, tmp_path: Path) -> None:
    outcome = fedwalk("embed", network_file, "-o", tmp_path, *SMALL, "--json")
    assert outcome.code == 0
    assert json.loads(outcome.out) == json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    assert "skipgram" in outcome.err


def test_without_json_a_person_reads_tables_and_the_next_command(
    fedwalk: Command, network_file: Path, tmp_path: Path
) -> None:
    outcome = fedwalk("embed", network_file, "-o", tmp_path / "run", *SMALL)
    for phase in ("plan", "vectors", "dictionary", "matrices", "tree", "hops", "sequences"):
        assert phase in outcome.out
    assert "nominal epsilon" in outcome.out
    assert f"fedwalk evaluate {tmp_path / 'run'} --graph {network_file}" in outcome.out


@pytest.mark.parametrize(
    ("protocol", "own"),
    [
        ("paper", ("--epsilon", 1.5, "--num-bins", 3, "--predictor", "degree", "--burst", 3)),
        ("ldp", ("--epsilon", 5, "--embed", "skipgram")),
        ("deepwalk", ()),
    ],
)
def test_the_written_settings_reproduce_the_run(
    protocol: str, own: tuple[object, ...], fedwalk: Command, network_file: Path, tmp_path: Path
) -> None:
    flags = (*own, "--window", 4, "--negative", 3)
    first, again = tmp_path / "first", tmp_path / "again"
    fedwalk("embed", network_file, "-o", first, *SMALL, *flags, "--protocol", protocol)
    outcome = fedwalk("embed", "--config", first / "settings.toml", "-o", again)
    assert outcome.code == 0
    assert vectors(again) == vectors(first)
    assert (again / "settings.toml").read_bytes() == (first / "settings.toml").read_bytes()


def test_any_name_that_is_text_is_written_down(fedwalk: Command, network_file: Path, tmp_path: Path) -> None:
    odd = tmp_path / 'a "b"\\\t\u00a0ε#.edges'
    odd.write_bytes(network_file.read_bytes())
    fedwalk("embed", odd, "-o", tmp_path / "first", *SMALL)
    assert fedwalk("embed", "--config", tmp_path / "first" / "settings.toml", "-o", tmp_path / "again").code == 0
    assert vectors(tmp_path / "again") == vectors(tmp_path / "first")


def test_the_format_is_written_down_too(fedwalk: Command, tmp_path: Path) -> None:
    graph = tmp_path / "graph.txt"
    graph.write_text("a b c\nb d\n")
    fedwalk("embed", graph, "-o", tmp_path / "first", *SMALL, "--format", "adjlist")
    outcome = fedwalk("embed", "--config", tmp_path / "first" / "settings.toml", "-o", tmp_path / "again")
    assert outcome.code == 0
    assert vectors(tmp_path / "again") == vectors(tmp_path / "first")


def test_the_format_of_another_graph_is_not_carried_over(fedwalk: Command, network_file: Path, tmp_path: Path) -> None:
    config = tmp_path / "other.toml"
    config.write_text('num_walks = 2\n[input]\ngraph = "other.mat"\nformat = "mat"\n')
    assert fedwalk("embed", network_file, "--config", config, "-o", tmp_path / "run", *SMALL).code == 0


def test_flags_override_the_file_and_the_file_the_defaults(
    fedwalk: Command, network_file: Path, tmp_path: Path
) -> None:
    config = tmp_path / "config.toml"
    config.write_text(f'num_walks = 2\nwalk-length = 9\ndim = 4\nthreads = 1\n[input]\ngraph = "{network_file}"\n')
    fedwalk("embed", "--config", config, "-o", tmp_path / "run", "--num-walks", 1, "--dim", 6)
    effective = tomllib.loads((tmp_path / "run" / "settings.toml").read_text(encoding="utf-8"))
    assert [effective[name] for name in ("num_walks", "walk_length", "dim", "negative")] == [1, 9, 6, 5]
    assert effective["input"] == {"graph": str(network_file)}


def test_a_flag_replaces_an_invalid_value_of_the_file(fedwalk: Command, network_file: Path, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text("walk_length = 2\nepsilon = 0\n")
    valid = ("--predict", 0, "--epsilon", 1, "--num-walks", 2, "--dim", 4, "--threads", 1)
    assert fedwalk("embed", network_file, "--config", config, "-o", tmp_path / "run", *valid).code == 0


def test_walks_are_kept_only_if_wanted(fedwalk: Command, network_file: Path, tmp_path: Path) -> None:
    fedwalk("embed", network_file, "-o", tmp_path / "without", *SMALL)
    fedwalk("embed", network_file, "-o", tmp_path / "with", *SMALL, "--keep-walks")
    assert not (tmp_path / "without" / "walks.npy").exists()
    assert np.load(tmp_path / "with" / "walks.npy").shape == (180, 12)


@pytest.mark.parametrize(
    "flags",
    [
        ("--predictor", "degree"),
        ("--predictor", "triad", "--predict", 1, "--burst", 4),
        ("--predict", 0),
        ("--protocol", "deepwalk"),
    ],
)
def test_every_choice_makes_another_embedding(
    flags: tuple[object, ...], fedwalk: Command, network_file: Path, tmp_path: Path
) -> None:
    fedwalk("embed", network_file, "-o", tmp_path / "plain", *SMALL)
    assert fedwalk("embed", network_file, "-o", tmp_path / "other", *SMALL, *flags).code == 0
    assert vectors(tmp_path / "other") != vectors(tmp_path / "plain")


def test_the_encoder_confuses_twins_unless_told_not_to(fedwalk: Command, tmp_path: Path) -> None:
    star = tmp_path / "star.edges"
    star.write_text("".join(f"hub leaf{i}\n" for i in range(12)))
    for encoder in ("exponential", "identity"):
        assert fedwalk("embed", star, "-o", tmp_path / encoder, *SMALL, "--encoder", encoder).code == 0
    assert vectors(tmp_path / "exponential") != vectors(tmp_path / "identity")


@pytest.mark.parametrize("tree", ["hybrid", "average"])
def test_either_tree_joins_all_vertices(tree: str, fedwalk: Command, network_file: Path, tmp_path: Path) -> None:
    assert fedwalk("embed", network_file, "-o", tmp_path, *SMALL, "--tree", tree).code == 0
    with np.load(tmp_path / "tree.npz") as arrays:
        assert arrays["linkage"].shape == (59, 4)


def test_both_runtimes_write_the_same(fedwalk: Command, network_file: Path, tmp_path: Path) -> None:
    records = []
    for runtime in ("local", "stepwise"):
        outcome = fedwalk("embed", network_file, "-o", tmp_path / runtime, *SMALL, "--runtime", runtime, "--json")
        records.append(json.loads(outcome.out))
    assert vectors(tmp_path / "local") == vectors(tmp_path / "stepwise")
    assert records[0]["messages"] == records[1]["messages"]


def test_names_and_isolated_vertices_survive(fedwalk: Command, tmp_path: Path) -> None:
    graph = tmp_path / "graph.csv"
    graph.write_text("from,to\nann lee,bob\nbob,zoë\nzoë,ann lee\nhermit,hermit\n", encoding="utf-8")
    outcome = fedwalk("embed", graph, "-o", tmp_path / "run", *SMALL)
    assert "fedwalk: note: 1 isolated vertex takes no part" in outcome.err
    embedding = Embedding.load(tmp_path / "run" / "embedding.npz")
    assert list(embedding) == ["ann lee", "bob", "zoë", "hermit"]
    assert not embedding["hermit"].any()
    assert embedding["zoë"].any()


def test_notes_are_said_once(fedwalk: Command, network_file: Path, tmp_path: Path) -> None:
    outcome = fedwalk("embed", network_file, "-o", tmp_path, *SMALL, "--num-bins", 9)
    assert outcome.err.count("bins = 9 is more than ln n") == 1


def test_a_folder_with_brackets_in_its_name_is_shown_as_it_is(
    fedwalk: Command, network_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = fedwalk("embed", network_file, "-o", "run[red][/x]", *SMALL)
    assert outcome.code == 0
    assert outcome.out.startswith("run[red][/x]\n")


def test_an_embedding_has_the_same_permissions_as_the_other_results(
    fedwalk: Command, network_file: Path, tmp_path: Path
) -> None:
    fedwalk("embed", network_file, "-o", tmp_path, *SMALL)
    assert (tmp_path / "embedding.npz").stat().st_mode == (tmp_path / "run.json").stat().st_mode


def test_resuming_says_what_was_reused_and_what_was_computed(
    fedwalk: Command, network_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = ("embed", network_file, "-o", tmp_path / "run", *SMALL)

    def fail(*_: object, **__: object) -> None:
        raise MemoryError("while training")

    with monkeypatch.context() as patched:
        patched.setattr("fedwalk.protocols.embed.train", fail)
        assert fedwalk(*run).code == 2
    resumed = fedwalk(*run, "--resume").out.splitlines()[0]
    assert resumed == (
        "Resumed: bins, vectors, matrices, tree, encoder and walks were finished before; skipgram was computed now."
    )
    again = fedwalk(*run, "--resume")
    assert again.out.splitlines()[0] == "Nothing to compute: the run was finished before."
    fresh = fedwalk("embed", network_file, "-o", tmp_path / "fresh", *SMALL, "--resume")
    assert fresh.out.splitlines()[0] == "Nothing was finished before: all stages were computed now."
    assert json.loads(fedwalk(*run, "--resume", "--json").out)["protocol"] == "paper"
    assert "finished before" not in fedwalk("embed", network_file, "-o", tmp_path / "new", *SMALL).out
