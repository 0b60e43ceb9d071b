"""Charts of outcomes as PNG and SVG files. Needs matplotlib (the extra `figures`)."""

from importlib.util import find_spec
from itertools import cycle
from pathlib import Path

from fedwalk.errors import SettingsError
from fedwalk.experiments.outcome import Chart
from fedwalk.util.extras import install_hint

MARKERS = "osD^vP*X"
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#555555")
"""Okabe and Ito's palette, which colour-blind readers can tell apart."""
LEVEL_STYLES = ("--", ":", "-.")
MAX_TICKS = 10
"""Up to this number of distinct x values, each one gets a tick."""


def check_available() -> None:
    """Raise an error if matplotlib is missing, so that a command can fail before any trial runs."""
    if find_spec("matplotlib") is None:
        raise SettingsError(
            "figures need matplotlib, which isn't installed. Leave them out with --no-figures, or install it: "
            f"{install_hint('figures')}"
        )


def draw(chart: Chart, folder: Path) -> list[Path]:
    """Write the chart as NAME.png and NAME.svg."""
    import matplotlib

    # The fixed salt, like Date: None below, makes the SVG the same bytes on every run.
    # The fonttype "none" keeps text as text, which can be searched and copied.
    with matplotlib.rc_context({"svg.hashsalt": chart.name, "svg.fonttype": "none", "font.size": 10}):
        # Figure instead of pyplot: no global state, and no display is needed.
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6.4, 4.2), layout="constrained")
        axes = figure.add_subplot()
        for series, marker, colour in zip(chart.series, cycle(MARKERS), cycle(COLOURS), strict=False):
            axes.errorbar(series.x, series.y, yerr=series.spread, label=series.label, marker=marker, color=colour,
                          capsize=3, linewidth=1.5, markersize=5)  # fmt: skip
        for style, (label, level) in zip(cycle(LEVEL_STYLES), chart.levels.items(), strict=False):
            axes.axhline(level, linestyle=style, color="#555555", label=label)
        places = sorted({x for series in chart.series for x in series.x})
        if len(places) <= MAX_TICKS and not chart.x_log:
            axes.set_xticks(places)
        if chart.x_log:
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter("{x:g}")
        axes.set(xlabel=chart.x_label, ylabel=chart.y_label, title=chart.title)
        axes.grid(alpha=0.3)
        axes.legend(frameon=False)
        folder.mkdir(parents=True, exist_ok=True)
        paths = [folder / f"{chart.name}.{kind}" for kind in ("png", "svg")]
        figure.savefig(paths[0], dpi=160)
        figure.savefig(paths[1], metadata={"Date": None})
    return paths
