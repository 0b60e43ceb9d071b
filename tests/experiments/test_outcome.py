"""Claims and their verdicts, and scores of one seed, which have no deviation."""

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from fedwalk.experiments import figure_5
from fedwalk.experiments.outcome import (
    Chart,
    Claim,
    Outcome,
    Results,
    Series,
    Table,
    compare,
    for_seeds,
    over_seeds,
    percent,
    spread,
)
from fedwalk.experiments.plots import draw
from fedwalk.experiments.publish import Edition, publish, read_claims
from fedwalk.experiments.setup import BLOGCATALOG, Setup
from fedwalk.experiments.trials import Measured


def synthetic(setup: Setup, change: float) -> Results:
    """FedWalk's scores `change` percent off DeepWalk's."""
    measured = {}
    for method, settings_ in figure_5.METHODS.items():
        for seed, settings in enumerate(for_seeds(setup, settings_)):
            factor = 1 + change / 100 if method == "FedWalk" else 1.0
            scores = {f"{s}@{r:g}": (0.4 + 0.001 * seed) * factor for s in figure_5.SCORES for r in setup.ratios}
            measured[settings, 0.0] = Measured(scores, 30.0, 100.0, 1.0, 6000, 20_000)
    return Results(setup, measured)


@pytest.mark.parametrize(("change", "verdict"), [(-1.8, "reproduced"), (-2.7, "reproduced"), (-3.0, "differs")])
def test_a_claim_is_judged_by_the_stated_rule(small: Setup, change: float, verdict: str) -> None:
    setup = replace(small, dataset="blogcatalog", ratios=BLOGCATALOG[0])
    claims = figure_5.claims(setup, synthetic(setup, change))
    micro = next(claim for claim in claims if claim.what.startswith("micro-F1") and "blogcatalog" in claim.what)
    assert (micro.paper, micro.verdict) == ("-1.80 %", verdict)
    assert {claim.verdict for claim in claims if "flickr" in claim.what} == {"can't be tested"}


def test_one_seed_has_no_deviation(small: Setup) -> None:
    assert (spread([50.0, 52.0]), percent([-1.0, -3.0])) == ("51.00 ± 1.00", "-2.00 ± 1.00 %")
    assert (spread([50.0]), percent([-1.0])) == ("50.00", "-1.00 %")
    setup = replace(small, seeds=1)
    (settings,) = for_seeds(setup, {})
    results = Results(setup, {(settings, 0.0): Measured({"micro_f1@0.5": 0.4}, 0.0, 0.0, 0.0, 0, 0)})
    assert results.mean({}, "micro_f1@0.5") == (0.4, None)
    assert (over_seeds(small), over_seeds(setup)) == ("± the standard deviation over 2 seeds", "from one seed")


def test_a_chart_of_one_seed_has_no_error_bars(tmp_path: Path) -> None:
    for name, half in (("one", None), ("two", 0.1)):
        chart = Chart(name, "F1", "p", "F1", [Series("a", [0.1, 0.2], [0.5, 0.6], [half, half])])
        drawing = draw(chart, tmp_path)[1].read_text(encoding="utf-8")
        _, bars = drawing.split('id="LineCollection_1">', 1)
        assert ("<path d=" in bars[: bars.index("</g>")]) == (half is not None)


def test_a_wide_spread_widens_the_tolerance() -> None:
    assert compare("", "", 5.0, [0.0, 4.0], "").verdict == "reproduced"
    assert compare("", "", 5.0, [1.9, 2.1], "").verdict == "differs"


@pytest.mark.parametrize(
    ("ours", "verdict"), [(-8.9, "reproduced"), (-8.6, "close"), (-12.3, "close"), (-7.4, "differs")]
)
def test_a_claim_is_close_within_a_quarter_of_the_papers_number(ours: float, verdict: str) -> None:
    assert compare("", "", -9.9, [ours], "").verdict == verdict


def test_claims_can_be_read_back_with_the_testable_ones_first(small: Setup, tmp_path: Path) -> None:
    claims = [
        Claim("Fig. 1", 'a "b", c', "1", "–", "can't be tested", ""),
        Claim("Fig. 2", "d", "1", "2", "differs", ""),
    ]
    outcome = Outcome("x", "X", "text | pipe", [Table("t", "T", ["a|b"], [["c"]])], [], claims)
    publish(Edition(small, [outcome], "cmd", date(2026, 1, 2)), tmp_path)
    assert [row[0] for row in read_claims(tmp_path)] == ["Fig. 2", "Fig. 1"]
    summary = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert "a\\|b" in summary
    assert "2026-01-02. Made by `cmd`." in summary
