"""Figure 9: hops per walk and micro-F1 by the predictor's probability p, for several γ."""

from typing import Any

from fedwalk.experiments.outcome import (
    Chart,
    Claim,
    Experiment,
    Outcome,
    Results,
    Series,
    Table,
    compare,
    over_seeds,
    percent,
    spread,
    trials_of,
    untested,
)
from fedwalk.experiments.setup import Setup
from fedwalk.experiments.trials import Trial
from fedwalk.protocols.paper.walks import expected_hops, printed_theorem_2
from fedwalk.settings import Settings

PAPER = {
    "blogcatalog": {20: -10.47, 40: -8.35, 60: -7.13, 80: -6.86},
    "flickr": {10: -13.08, 20: -10.64, 40: -8.08, 60: -3.88},
}
"""Change of micro-F1 from p = 0 to p = 0.4, in percent, by γ. The paper doesn't say at which T_R."""

LENGTH = Settings().walk_length


def at(p: float, walks: int) -> dict[str, Any]:
    """The settings of one point of the figure."""
    return {"predict": p, "num_walks": walks}


def trials(setup: Setup) -> list[Trial]:
    """Every p with every γ."""
    changes = [at(p, walks) for walks in setup.walks for p in setup.probabilities]
    return trials_of(setup, changes, (setup.ratio,))


def present(setup: Setup, results: Results) -> Outcome:
    """Hops per walk against both forms of Theorem 2, and micro-F1 by p and γ."""
    score, largest = f"micro_f1@{setup.ratio:g}", setup.walks[-1]
    first, last = setup.probabilities[0], setup.probabilities[-1]
    hop_rows = [
        [f"{p:g}", f"{printed_theorem_2(LENGTH, p):.2f}", f"{expected_hops(LENGTH, p):.2f}",
         f"{results.hops(at(p, largest)):.2f}"]
        for p in setup.probabilities
    ]  # fmt: skip
    rows = [
        [f"{p:g}", *(spread([100 * s for s in results.scores(at(p, walks), score)]) for walks in setup.walks)]
        for p in setup.probabilities
    ]
    rows.append([f"{first:g} → {last:g}", *(
        percent(results.change(at(first, walks), at(last, walks), score)) for walks in setup.walks
    )])  # fmt: skip
    lines = []
    for walks in setup.walks:
        points = [results.mean(at(p, walks), score) for p in setup.probabilities]
        lines.append(Series(f"γ = {walks}", list(setup.probabilities), [m for m, _ in points], [s for _, s in points]))
    hops = [results.hops(at(p, largest)) for p in setup.probabilities]
    # Without error bars: hops are a mean over the seeds, and a formula has no spread.
    curve = Series("measured", list(setup.probabilities), hops, [0.0] * len(hops))
    printed = Series("printed formula", list(setup.probabilities),
                     [printed_theorem_2(LENGTH, p) for p in setup.probabilities], [0.0] * len(hops))  # fmt: skip
    return Outcome(
        "9", "The predictor's probability (Figure 9)",
        f"Micro-F1 in % at T_R = {setup.ratio:g}, {over_seeds(setup)}. "
        f"Hops were counted at γ = {largest}.",
        [
            Table("figure-9-hops", f"{setup.title}: hops per walk",
                  ["p", "paper's formula", "corrected formula", "measured"], hop_rows),
            Table("figure-9", f"{setup.title}: micro-F1 by p and γ", ["p", *(f"γ = {g}" for g in setup.walks)], rows),
        ],
        [
            Chart("figure-9-hops", f"{setup.title}: hops per walk", "p", "hops per walk", [curve, printed]),
            Chart("figure-9", f"{setup.title}: micro-F1 by p", "p", "micro-F1", lines),
        ],
        claims(setup, results),
    )  # fmt: skip


def claims(setup: Setup, results: Results) -> list[Claim]:
    """Compare the losses from p = 0 to 0.4 that the paper reports with ours."""
    compared = []
    for dataset, losses in PAPER.items():
        for walks, paper in losses.items():
            what = f"micro-F1 from p = 0 to 0.4, {dataset}, γ = {walks}"
            if setup.dataset != dataset or walks not in setup.walks:
                compared.append(untested("Fig. 9", what, f"{paper:+.2f} %"))
                continue
            ours = results.change(at(0.0, walks), at(0.4, walks), f"micro_f1@{setup.ratio:g}")
            why = "The paper doesn't say at which T_R it measured."
            compared.append(compare("Fig. 9", what, paper, ours, why))
    return compared


EXPERIMENT = Experiment("9", trials, present)
