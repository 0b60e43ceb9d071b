"""`fedwalk links`: a graph in, AUC and average precision of its held-out edges out."""

import json
from pathlib import Path

import pytest

from conftest import SETTINGS, SMALL, Command
from fedwalk import DeepWalk, FedWalk
from fedwalk.cli.links import SCORINGS, VALIDATION, compared
from fedwalk.evaluation import BASELINES, LinkScore, links, score_baseline, score_links, split_edges
from fedwalk.graph import load_graph


def test_the_flag_offers_the_scorings_of_the_library() -> None:
    assert SCORINGS == links.SCORINGS


@pytest.mark.parametrize(("protocol", "model"), [("paper", FedWalk), ("deepwalk", DeepWalk)])
def test_json_holds_the_scores_of_the_library(
    protocol: str, model: type[FedWalk] | type[DeepWalk], fedwalk: Command, network_file: Path
) -> None:
    outcome = fedwalk("links", network_file, *SMALL, "--held-out", 0.3, "--protocol", protocol, "--json")
    assert outcome.code == 0
    record = json.loads(outcome.out)
    split = split_edges(load_graph(network_file), 0.3, SETTINGS["seed"], VALIDATION)
    embedding = model(**SETTINGS).fit_transform(split.training)
    assert (record["held_out"], record["non_edges"]) == (len(split.held_out), len(split.non_edges))
    assert (record["protocol"], record["settings"]["dim"]) == (protocol, 8)
    expected = [score_links(embedding, split, method, SETTINGS["seed"]) for method in SCORINGS]
    expected += [score_baseline(split, name) for name in BASELINES]
    for given, score in zip(record["scores"] + record["baselines"], expected, strict=True):
        assert (given["scoring"], given["pairs"]) == (score.scoring, score.pairs)
        for name in ("auc", "average_precision", "validation_auc"):
            assert given[name] == pytest.approx(getattr(score, name))
    assert record["scoring"] == score_links(embedding, split, "best", SETTINGS["seed"]).scoring
    assert record["validation_edges"] == len(split.validation_edges)


def test_a_table_has_a_row_per_scoring_and_baseline_and_marks_the_chosen_one(
    fedwalk: Command, network_file: Path
) -> None:
    outcome = fedwalk("links", network_file, *SMALL)
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    for name in (*(f"paper, {scoring}" for scoring in SCORINGS), *BASELINES):
        assert sum(line.startswith(f"{name} ") for line in lines) == 1
    assert "27 held-out edges against as many non-edges" in outcome.out
    assert "* best on the validation pairs: 9 other held-out edges and as many non-edges" in outcome.out
    record = json.loads(fedwalk("links", network_file, *SMALL, "--json").out)
    (marked,) = [line for line in lines if " * " in line]
    assert marked.startswith(f"paper, {record['scoring']} *")
    assert lines[-1] == record["verdict"]
    assert [line.split()[0] for line in outcome.err.splitlines()[-2:]] == ["skipgram", "score"]


def test_a_single_scoring_is_tested_on_all_held_out_pairs(fedwalk: Command, network_file: Path) -> None:
    record = json.loads(fedwalk("links", network_file, *SMALL, "--scoring", "cosine", "--json").out)
    assert [score["scoring"] for score in record["scores"]] == ["cosine"]
    assert [score["scoring"] for score in record["baselines"]] == list(BASELINES)
    assert (record["held_out"], record["validation_edges"]) == (36, 0)
    shown = fedwalk("links", network_file, *SMALL, "--scoring", "cosine").out
    assert "validation" not in shown
    assert shown.endswith("To try all scorings of the vectors: --scoring best.\n")


def score(scoring: str, auc: float) -> LinkScore:
    return LinkScore(auc, 0.5, scoring, 100)


@pytest.mark.parametrize(
    ("baselines", "text"),
    [
        ({"degree product": 0.93, "common neighbours": 0.81},
         "Degree product (AUC 0.930) beats the vectors (hadamard, 0.880): on this graph popularity predicts links "
         "better than the embedding. Computing it takes the training graph, which no party of a federation is given."),
        ({"degree product": 0.9, "Adamic–Adar": 0.95},
         "Adamic–Adar (AUC 0.950) and degree product (0.900) beat the vectors (hadamard, 0.880): on this graph common "
         "neighbours predict links better than the embedding. Computing them takes the training graph, which no party "
         "of a federation is given."),
        ({"degree product": 0.7, "common neighbours": 0.88},
         "No baseline beats the vectors (hadamard, AUC 0.880); the strongest is common neighbours (0.880)."),
    ],
)  # fmt: skip
def test_the_verdict_names_every_baseline_that_beats_the_vectors(baselines: dict[str, float], text: str) -> None:
    assert compared(score("hadamard", 0.88), [score(*item) for item in baselines.items()]) == text


def test_settings_and_graph_may_come_from_a_file(fedwalk: Command, network_file: Path, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text(
        f'num_walks = 3\nwalk-length = 12\ndim = 8\nthreads = 1\nseed = 5\n[input]\ngraph = "{network_file}"\n'
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
        (("--scoring", "guess"), "argument --scoring"),
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
