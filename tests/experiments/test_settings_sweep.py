"""Sweeps over settings: what `--vary` accepts, what a trial counts as its own, and which charts are drawn."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedwalk.errors import SettingsError
from fedwalk.experiments.outcome import Chart, Series
from fedwalk.experiments.plots import draw
from fedwalk.experiments.settings_sweep.grid import Combination, Varied, combine, parse_varied
from fedwalk.experiments.settings_sweep.present import MAX_CHARTS, all_charts, axes_of, present
from fedwalk.experiments.settings_sweep.results import COSTS, Row, SweepResults, label_measures
from fedwalk.experiments.setup import Setup
from fedwalk.experiments.trials import Trial, Trials
from fedwalk.graph import Graph
from fedwalk.protocols import registry
from fedwalk.protocols.deepwalk.protocol import PROTOCOL as DEEPWALK
from fedwalk.protocols.stages import Stage, Stages, Vectors, array_stage
from fedwalk.run.execute import run
from fedwalk.settings import Setting, Settings

QUICK = Settings(num_walks=2, walk_length=8, dim=4, threads=1)


def setup(graph: Graph, **changes: Any) -> Setup:
    usual: dict[str, Any] = {"seeds": 1, "splits": 1, "threads": 1}
    return Setup("small", graph, None, (0.5,), (), (), (), **{**usual, **changes})


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("epsilon=0.5,1", (0.5, 1.0)),
        ("num-bins=3, 5", (3, 5)),
        ("num_walks=10", (10,)),
        ("predictor=tree,triad", ("tree", "triad")),
        ("embed=skipgram", ("skipgram",)),
        ("protocol=paper,ldp", ("paper", "ldp")),
    ],
)
def test_values_have_the_types_of_the_settings(text: str, values: tuple[Any, ...]) -> None:
    (varied,) = parse_varied([text], "paper")
    assert varied.values == values
    assert [type(value) for value in varied.values] == [type(value) for value in values]


@pytest.mark.parametrize(
    ("texts", "part"),
    [
        (["epsilonn=1"], "Did you mean epsilon?"),
        (["colour=red"], "Known are burst, dim, embed,"),
        (["epsilon"], "expected a setting and its values"),
        (["epsilon=1,,2"], "expected a setting and its values"),
        (["epsilon=1,1.0"], "1 is listed twice"),
        (["epsilon=1,many"], "epsilon = 'many': must be a number"),
        (["dim=8,1.5"], "dim = '1.5': must be a whole number"),
        (["dim=8", "dim=16"], "given more than once"),
        (["walk-length=8", "walk_length=16"], "given more than once"),
        (["protocol=paper,other"], "choose from paper, ldp, deepwalk"),
        (["seed=1,2"], "Use --seeds"),
        (["threads=1,2"], "can't be varied"),
        (["budget=1,2"], "can't be varied"),
        (["own=1"], "can't be varied"),
    ],
)
def test_other_texts_are_refused_with_advice(texts: list[str], part: str) -> None:
    with pytest.raises(SettingsError) as refused:
        parse_varied(texts, "paper")
    assert part in str(refused.value)


def test_a_setting_that_only_one_protocol_has_can_be_varied_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registered", {})
    registry.register(replace(DEEPWALK, name="other", settings=(Setting("keep", 0.5, "share of edges"),)))
    assert parse_varied(["keep=0.5,1"], "other") == [Varied("keep", (0.5, 1.0))]
    assert parse_varied(["keep=0.5", "protocol=paper,other"], "paper")[0] == Varied("keep", (0.5,))
    with pytest.raises(SettingsError, match="no such setting"):
        parse_varied(["keep=0.5"], "paper")


def test_every_combination_is_made_once_in_order() -> None:
    varied = [Varied("epsilon", (1.0, 2.0)), Varied("predict", (0.0, 0.2, 0.4))]
    made = combine(varied, Settings.from_mapping)
    assert [(one.settings.epsilon, one.settings.predict) for one in made] == [
        (1.0, 0.0), (1.0, 0.2), (1.0, 0.4), (2.0, 0.0), (2.0, 0.2), (2.0, 0.4),
    ]  # fmt: skip


def test_an_impossible_combination_is_named() -> None:
    varied = [Varied("protocol", ("deepwalk", "paper")), Varied("embed", ("skipgram", "spectral"))]
    with pytest.raises(SettingsError, match="the combination protocol = paper, embed = spectral: embed = spectral"):
        combine(varied, Settings.from_mapping)


def test_a_trial_counts_the_messages_of_a_shared_tree_as_its_own(network: Graph, tmp_path: Path) -> None:
    trials = [Trial(replace(QUICK, predict=predict)) for predict in (0.0, 0.5)]
    measured = Trials(setup(network), tmp_path).measure(trials)
    for trial in trials:
        traffic = run(network, trial.settings).stages.total().traffic.values()
        numbers = measured[trial.settings, 0.0]
        assert (numbers.messages, numbers.bytes) == (
            sum(phase.count for phase in traffic),
            sum(phase.bytes for phase in traffic),
        )


def test_stages_of_other_protocols_are_not_shared(
    network: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A stage with the name of one of ours, whose value depends on a setting that our tree doesn't depend on.
    stage: Stage[Any] = array_stage("tree")

    def simulate(graph: Graph, settings: Settings, stages: Stages) -> Vectors:
        vectors: Vectors = stages.run(stage, lambda _: np.ones((graph.vertices, settings.dim), np.float32))
        return vectors

    monkeypatch.setattr(registry, "_registered", {})
    registry.register(replace(DEEPWALK, name="other", stages=(stage,), simulate=simulate))
    trials = [Trial(replace(QUICK, protocol="other", dim=dim)) for dim in (2, 3)]
    assert len(Trials(setup(network), tmp_path).measure(trials)) == 2


def test_progress_covers_only_trials_that_run_and_never_goes_back(network: Graph, tmp_path: Path) -> None:
    trials = [Trial(replace(QUICK, predict=predict)) for predict in (0.0, 0.2, 0.5)]
    Trials(setup(network), tmp_path).measure(trials[:1])
    seen: list[tuple[int, int]] = []
    Trials(setup(network), tmp_path).measure(trials, lambda done, total: seen.append((done, total)))
    assert {total for _, total in seen} == {2 * (10 + QUICK.num_walks)}
    steps = [done for done, _ in seen]
    assert steps == sorted(steps)
    assert (steps[0], steps[-1]) == (0, seen[0][1])
    # Also within a trial.
    assert len(set(steps)) > 5


def results(*varied: Varied, seeds: int = 2) -> SweepResults:
    """Made-up results: micro-F1 rises and hops fall from one combination to the next."""
    rows = []
    for number, values in enumerate(combine(varied, lambda _: Settings())):
        for seed in range(seeds):
            numbers: dict[str, float | None] = {
                "micro_f1@0.5": 0.1 + number / 100 + seed / 50, "macro_f1@0.5": 0.1, "hops_per_walk": 30.0 - number,
                "messages": 100, "bytes": 1000, "seconds": 1.0,
            }  # fmt: skip
            rows.append(Row(Combination(values.values, Settings()), seed, 2.0, numbers))
    return SweepResults(varied, [*label_measures([0.5]), *COSTS], rows)


EPSILON, PREDICT = Varied("epsilon", (2.0, 0.5)), Varied("predict", (0.0, 0.2, 0.4))
PREDICTOR, TREE = Varied("predictor", ("tree", "triad")), Varied("tree", ("hybrid", "average"))


def test_one_number_is_a_line_in_ascending_order_with_deviations() -> None:
    score, hops = all_charts(results(EPSILON))
    (line,) = score.series
    assert (score.x_label, line.x) == ("epsilon", [0.5, 2.0])
    assert line.y == pytest.approx([100 * (0.11 + 0.01), 100 * (0.1 + 0.01)])
    assert line.spread == pytest.approx([2 / 2**0.5] * 2)
    assert (hops.y_label, hops.series[0].y) == ("hops per walk", [29.0, 30.0])


def test_with_one_seed_there_is_no_deviation() -> None:
    swept = results(EPSILON, seeds=1)
    assert [line.spread for chart in all_charts(swept) for line in chart.series] == [[], []]
    summary, trials = present(swept, "")
    assert "±" not in summary.text
    assert not any("±" in cell for row in (*summary.tables[0].rows, *trials.tables[0].rows) for cell in row)
    header, rows = swept.csv_summary()
    assert {row[header.index("micro_f1@0.5_std")] for row in rows} == {""}


def test_of_two_settings_the_second_has_a_line_per_value() -> None:
    score, _ = all_charts(results(EPSILON, PREDICT))
    assert [line.label for line in score.series] == ["predict = 0", "predict = 0.2", "predict = 0.4"]
    assert axes_of([PREDICTOR, PREDICT])[:2] == (PREDICT, PREDICTOR)
    assert axes_of([Varied("epsilon", (1.0,)), PREDICTOR])[0] == PREDICTOR


def test_names_have_points_beside_each_other(tmp_path: Path) -> None:
    score, _ = all_charts(results(PREDICTOR, TREE))
    assert score.x_names == ["tree", "triad"]
    first, second = score.series
    assert [round(x) for x in first.x] == [round(x) for x in second.x] == [0, 1]
    assert set(first.x).isdisjoint(second.x)
    _, svg = draw(score, tmp_path)
    drawn = svg.read_text(encoding="utf-8")
    assert ">triad<" in drawn
    assert ">tree = average<" in drawn


def test_further_settings_have_a_chart_per_combination_up_to_a_limit() -> None:
    titles = [chart.title for chart in all_charts(results(EPSILON, PREDICT, TREE))][:2]
    assert titles == ["micro-F1 in % by epsilon, tree = hybrid", "micro-F1 in % by epsilon, tree = average"]
    many = Varied("dim", tuple(range(1, MAX_CHARTS + 2)))
    assert all_charts(results(EPSILON, PREDICT, many)) == []


def test_constant_hops_have_no_chart_and_a_wide_range_is_logarithmic() -> None:
    swept = results(Varied("epsilon", (0.01, 1.0)))
    same = [replace(row, numbers={**row.numbers, "hops_per_walk": None}) for row in swept.rows]
    (score,) = all_charts(replace(swept, rows=same))
    assert score.x_log


def test_a_chart_without_deviations_has_no_error_bars(tmp_path: Path) -> None:
    def bars(spread: list[float]) -> int:
        chart = Chart("chart", "Title", "x", "y", [Series("line", [1.0, 2.0], [1.0, 2.0], spread)])
        return draw(chart, tmp_path)[1].read_text(encoding="utf-8").count('id="LineCollection')

    assert bars([]) == 0 < bars([0.1, 0.1])


def test_the_best_and_the_cheapest_combination_come_first() -> None:
    text = present(results(EPSILON, PREDICT), "Scored somehow.")[0].text
    assert text.startswith(
        "6 combinations × 2 seeds; ± is the sample standard deviation over them. Best micro-F1 in %: "
    )
    assert "16.00 ± 1.41 with epsilon = 0.5, predict = 0.4." in text
    assert "Fewest hops per walk: 25.00 ± 0.00 with epsilon = 0.5, predict = 0.4." in text
    assert text.endswith("Scored somehow.")
