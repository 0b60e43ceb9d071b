"""`fedwalk links`: a graph in, AUC and average precision of its held-out edges out."""

import json
from pathlib import Path

import pytest

from conftest import SETTINGS, SMALL, Command
from fedwalk import DeepWalk, FedWalk
from fedwalk.cli.links import METHODS
from fedwalk.evaluation import BASELINES, links, score_baseline, score_links, split_edges
from fedwalk.graph import load_graph


def test_the_flag_offers_the_methods_of_the_library() -> None:
    assert METHODS == links.METHODS


@pytest.mark.parametrize(("protocol", "model"), [("paper", FedWalk), ("deepwalk", DeepWalk)])
def test_json_holds_the_scores_of_the_library(
    protocol: str, model: type[FedWalk] | type[DeepWalk], fedwalk: Command, network_file: Path
) -> None:
    outcome = fedwalk("links", network_file, *SMALL, "--held-out", 0.3, "--protocol", protocol, "--json")
    assert outcome.code == 0
    record = json.loads(outcome.out)
    split = split_edges(load_graph(network_file), 0.3, SETTINGS["seed"])
    embedding = model(**SETTINGS).fit(split.training)
    assert (record["held_out"], record["non_edges"]) == (len(split.held_out), len(split.non_edges))
    assert (record["protocol"], record["settings"]["dim"]) == (protocol, 8)
    expected = [score_links(embedding, split, method, SETTINGS["seed"]) for method in METHODS]
    expected += [score_baseline(split, name) for name in BASELINES]
    for given, score in zip(record["scores"] + record["baselines"], expected, strict=True):
        assert (given["method"], given["pairs"]) == (score.method, score.pairs)
        assert (given["auc"], given["average_precision"]) == pytest.approx((score.auc, score.average_precision))


def test_a_table_has_a_row_per_method_and_baseline(fedwalk: Command, network_file: Path) -> None:
    outcome = fedwalk("links", network_file, *SMALL)
    assert outcome.code == 0
    for name in (*(f"paper, {method}" for method in METHODS), *BASELINES):
        assert sum(line.startswith(f"{name} ") for line in outcome.out.splitlines()) == 1
    assert "36 held-out edges against as many non-edges" in outcome.out
    assert [line.split()[0] for line in outcome.err.splitlines()[-2:]] == ["skipgram", "score"]


def test_a_single_method_can_be_chosen(fedwalk: Command, network_file: Path) -> None:
    record = json.loads(fedwalk("links", network_file, *SMALL, "--method", "cosine", "--json").out)
    assert [score["method"] for score in record["scores"]] == ["cosine"]
    assert [score["method"] for score in record["baselines"]] == list(BASELINES)


def test_settings_and_graph_may_come_from_a_file(fedwalk: Command, network_file: Path, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text(
        f'num-walks = 3\nwalk-length = 12\ndim = 8\nthreads = 1\nseed = 5\n[input]\ngraph = "{network_file}"\n'
    )
    from_file, from_flags = (
        fedwalk("links", "--config", config, "--json"),
        fedwalk("links", network_file, *SMALL, "--json"),
    )
    assert json.loads(from_file.out) == json.loads(from_flags.out)


@pytest.mark.parametrize(
    ("flags", "part"),
    [
        (("--held-out", 0), "held-out share = 0.0"),
        (("--held-out", 0.9), "Hold out at most"),
        (("--held-out", "half"), "argument --held-out"),
        (("--method", "guess"), "argument --method"),
        (("--seed", -1), "seed = -1"),
        (("--num-walks", 0), "walks = 0"),
    ],
)
def test_bad_input_is_an_error_before_anything_is_printed(
    flags: tuple[object, ...], part: str, fedwalk: Command, network_file: Path
) -> None:
    outcome = fedwalk("links", network_file, *flags)
    assert (outcome.code, outcome.out) == (2, "")
    assert part in outcome.err.splitlines()[-1]


def test_a_tree_is_refused(fedwalk: Command, tmp_path: Path) -> None:
    tree = tmp_path / "tree.edges"
    tree.write_text("a b\nb c\nb d\n")
    outcome = fedwalk("links", tree, *SMALL)
    assert outcome.code == 2
    assert outcome.err.startswith("fedwalk: error: no edge can be held out")
    assert "no graph: name a graph file" in fedwalk("links").err
