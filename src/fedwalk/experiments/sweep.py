"""What Figures 7 and 8 have in common: micro-F1 at four T_R while one setting varies from its smallest value."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fedwalk.experiments.outcome import (
    Chart,
    Claim,
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


@dataclass(frozen=True, slots=True)
class Sweep:
    """A figure that varies one setting.

    `paper` has, per dataset, the first and the last value of the setting, and the gain in percent at each T_R. `why` is
    our explanation of the difference.
    """

    key: str
    title: str
    setting: str
    letter: str
    paper: dict[str, tuple[float, float, tuple[float, ...]]]
    why: str

    def values(self, setup: Setup) -> Sequence[float]:
        """The values of the setting, ascending."""
        return setup.bins if self.setting == "num_bins" else setup.epsilons

    def trials(self, setup: Setup) -> list[Trial]:
        """Every value with every seed."""
        return trials_of(setup, [{self.setting: value} for value in self.values(setup)], setup.sweep_ratios)

    def present(self, setup: Setup, results: Results) -> Outcome:
        """Micro-F1 per value, and the gain from the first value to the last."""
        values, ratios = self.values(setup), setup.sweep_ratios
        scores = {
            value: [results.scores({self.setting: value}, f"micro_f1@{ratio:g}") for ratio in ratios]
            for value in values
        }
        rows = [
            [f"{value:g}", *(spread([100 * s for s in scores[value][i]]) for i in range(len(ratios)))]
            for value in values
        ]
        gains = [results.change(self._at(values[0]), self._at(values[-1]), f"micro_f1@{ratio:g}") for ratio in ratios]
        rows.append([f"{values[0]:g} → {values[-1]:g}", *map(percent, gains)])
        lines = []
        for ratio in ratios:
            points = [results.mean(self._at(value), f"micro_f1@{ratio:g}") for value in values]
            lines.append(
                Series(f"T_R = {ratio:g}", list(values), [mean for mean, _ in points], [std for _, std in points])
            )
        name, title = f"figure-{self.key}", f"{setup.title}: micro-F1 by {self.letter}"
        table = Table(name, title, [self.letter, *(f"T_R = {ratio:g}" for ratio in ratios)], rows)
        chart = Chart(name, title, self.letter, "micro-F1", lines)
        text = f"Micro-F1 in %, {over_seeds(setup)}."
        return Outcome(self.key, self.title, text, [table], [chart], self.claims(setup, results))

    def claims(self, setup: Setup, results: Results) -> list[Claim]:
        """Compare the gains that the paper reports with ours."""
        compared = []
        for dataset, (first, last, gains) in self.paper.items():
            for place, paper in enumerate(gains):
                here = setup.dataset == dataset and {first, last} <= set(self.values(setup))
                # This setup's T_R are not those of another dataset, of which only the position is given.
                ratio = f"T_R = {setup.sweep_ratios[place]:g}" if here else f"T_R number {place + 1}"
                what = f"micro-F1 from {self.letter} = {first:g} to {last:g}, {dataset}, {ratio}"
                if not here:
                    compared.append(untested(f"Fig. {self.key}", what, f"{paper:+.2f} %"))
                    continue
                score = f"micro_f1@{setup.sweep_ratios[place]:g}"
                ours = results.change(self._at(first), self._at(last), score)
                compared.append(compare(f"Fig. {self.key}", what, paper, ours, self.why))
        return compared

    def _at(self, value: float) -> dict[str, Any]:
        return {self.setting: value}
