"""What a sweep shows: a summary in words, the tables, and charts of the score and of hops per walk."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from fedwalk.experiments.outcome import Chart, Outcome, Series
from fedwalk.experiments.settings_sweep.grid import Varied, value_text, values_text
from fedwalk.experiments.settings_sweep.results import Measure, Row, Summary, SweepResults, summarise
from fedwalk.util.text import counted

MAX_CHARTS = 6
"""With more than two varied settings, every combination of the further ones has a chart; none if there are more."""
LOG_RANGE = 100
"""If the values of a setting span at least this factor, its axis is logarithmic."""
GAP = 0.4
"""How far the points of different lines are spread over one named value; values are 1 apart."""
HOPS = "hops_per_walk"
PREFIX = "sweep-"
"""How the names of all charts begin."""


def present(results: SweepResults, note: str) -> list[Outcome]:
    """The sections of the page: the summary first, then every trial; `note` says how the trials were scored."""
    text = " ".join((*highlights(results), note))
    return [
        Outcome("summary", "Summary", text, [results.summary_table()], all_charts(results), []),
        Outcome("trials", "Trials", "One row per combination and seed.", [results.trials_table()], [], []),
    ]


def highlights(results: SweepResults) -> Iterator[str]:
    """The best combination, and the one with the fewest hops if they differ in hops."""
    groups = results.combinations()
    seeds = len(groups[0])
    over = f"{counted(seeds, 'seed', 'seeds')}{'; ± is the sample standard deviation over them' if seeds > 1 else ''}"
    yield f"{counted(len(groups), 'combination', 'combinations')} × {over}."
    score = score_of(results)
    if score is not None and len(groups) > 1:
        best = max(groups, key=lambda group: summarise(group, score.name).mean or 0.0)
        yield f"Best {score.title}: {summarise(best, score.name).text(score)} with {best[0].combination}."
    if varies(groups, HOPS):
        hops = measure_of(results, HOPS)
        sent = [group for group in groups if summarise(group, HOPS).mean is not None]
        fewest = min(sent, key=lambda group: summarise(group, HOPS).mean or 0.0)
        yield f"Fewest {hops.title}: {summarise(fewest, HOPS).text(hops)} with {fewest[0].combination}."


def score_of(results: SweepResults) -> Measure | None:
    """The score that ranks combinations: the first one; None if nothing was scored."""
    return results.measures[0] if results.measures[0].name != HOPS else None


def measure_of(results: SweepResults, name: str) -> Measure:
    """A measure by name."""
    return next(measure for measure in results.measures if measure.name == name)


def varies(groups: Sequence[Sequence[Row]], name: str) -> bool:
    """Whether at least two combinations have different means of a measure."""
    return len({summarise(group, name).mean for group in groups} - {None}) > 1


def all_charts(results: SweepResults) -> list[Chart]:
    """Charts of the score, and of hops per walk if they vary."""
    score = score_of(results)
    hops = [measure_of(results, HOPS)] if varies(results.combinations(), HOPS) else []
    return [chart for measure in (*([score] if score else []), *hops) for chart in charts_of(results, measure)]


def axes_of(varied: Sequence[Varied]) -> tuple[Varied, Varied | None, list[Varied]]:
    """The setting on the x axis, the one with a line per value, and the others.

    The x axis is that of the first numeric setting with several values, else of the first setting.
    """
    several = [one for one in varied if len(one.values) > 1] or list(varied)
    x = next((one for one in several if one.numeric), several[0])
    rest = [one for one in varied if one is not x]
    return x, rest[0] if rest else None, rest[1:]


def charts_of(results: SweepResults, measure: Measure) -> Iterator[Chart]:
    """One chart; with more than two varied settings, one for each combination of the further ones."""
    x, lines, others = axes_of(results.varied)
    panels = _choices(others)
    if len(panels) > MAX_CHARTS:
        return
    for number, fixed in enumerate(panels, start=1):
        drawn = [_series(results, measure, x, chosen, fixed) for chosen in _choices([lines] if lines else [])]
        series = _side_by_side([line for line in drawn if line is not None], x)
        if series:
            name = f"{PREFIX}{measure.name.split('@')[0].replace('_', '-')}{f'-{number}' if others else ''}"
            title = f"{measure.title} by {x.name}{f', {values_text(fixed)}' if fixed else ''}"
            yield Chart(name, title, x.name, measure.title, series, x_log=_is_wide(x), x_names=_names(x))


def _choices(varied: Sequence[Varied]) -> list[dict[str, Any]]:
    """Every combination of values, by name; one empty combination of no settings."""
    names = [one.name for one in varied]
    return [dict(zip(names, values, strict=True)) for values in product(*(one.values for one in varied))]


def _series(
    results: SweepResults, measure: Measure, x: Varied, chosen: dict[str, Any], fixed: dict[str, Any]
) -> Series | None:
    """The line of the chosen values, ascending in x; None if no combination with the fixed ones has the measure."""
    points: dict[Any, Summary] = {}
    for group in results.combinations():
        values = group[0].combination.values
        if all(values[name] == value for name, value in {**chosen, **fixed}.items()):
            points[values[x.name]] = summarise(group, measure.name)
    order = sorted(points) if x.numeric else [value for value in x.values if value in points]
    known = [(value, points[value]) for value in order if points[value].mean is not None]
    if not known:
        return None
    places = [float(value) if x.numeric else float(x.values.index(value)) for value, _ in known]
    means = [measure.scale * one.mean for _, one in known if one.mean is not None]
    # With one seed there are no deviations, and points have no error bars.
    deviations = [measure.scale * one.deviation for _, one in known if one.deviation is not None]
    return Series(values_text(chosen) or measure.title, places, means, deviations)


def _side_by_side(lines: list[Series], x: Varied) -> list[Series]:
    """The lines moved apart a little over named values, where equal points would hide each other."""
    if x.numeric:
        return lines
    middle = (len(lines) - 1) / 2
    return [
        replace(line, x=[place + GAP * (number - middle) / len(lines) for place in line.x])
        for number, line in enumerate(lines)
    ]


def _is_wide(x: Varied) -> bool:
    return x.numeric and min(x.values) > 0 and max(x.values) / min(x.values) >= LOG_RANGE


def _names(x: Varied) -> list[str]:
    return [] if x.numeric else [value_text(value) for value in x.values]
