"""Charts of outcomes as PNG and SVG files, and as SVG inside a page. Needs matplotlib (the extra `figures`).

The files have a white background and can be shown anywhere. In a page, `inline_svg` replaces every colour by one of the
page's style sheet, so that a chart follows dark mode.
"""

import math
import re
import textwrap
from importlib.util import find_spec
from itertools import cycle
from pathlib import Path

from fedwalk.errors import SettingsError
from fedwalk.experiments.outcome import Chart
from fedwalk.util.extras import install_hint

MARKERS = "osD^vP*X"
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#555555")
"""Okabe and Ito's palette, which colour-blind readers can tell apart."""
INK, PAPER = "#1d2229", "#ffffff"
"""Colours of text and lines, and of the background. Not black: matplotlib omits black, and it couldn't be replaced."""
TITLE_WIDTH = 50
"""Characters per line of a title."""
MAX_LABEL = 13
"""Up to this many characters, three labels fit into a row of the legend; longer ones get two columns."""
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
    with matplotlib.rc_context({
        "svg.hashsalt": chart.name, "svg.fonttype": "none", "font.size": 10, "axes.titlesize": 10, "text.color": INK,
        "axes.edgecolor": INK, "axes.labelcolor": INK, "xtick.color": INK, "ytick.color": INK, "grid.color": INK,
    }):  # fmt: skip
        # Figure instead of pyplot: no global state, and no display is needed.
        from matplotlib.figure import Figure

        # Small, so that the text is still legible if a page is as narrow as a phone.
        figure = Figure(figsize=(4.8, 3.6), layout="constrained", facecolor=PAPER)
        axes = figure.add_subplot()
        for series, marker, colour in zip(chart.series, cycle(MARKERS), cycle(COLOURS), strict=False):
            # matplotlib draws no error bar for a number that isn't one.
            bars = [math.nan if one is None else one for one in series.spread]
            axes.errorbar(series.x, series.y, yerr=bars or None, label=series.label, marker=marker,
                          color=colour, linestyle="none" if chart.x_names else "-", capsize=3, linewidth=1.5,
                          markersize=5)  # fmt: skip
        for style, (label, level) in zip(cycle(LEVEL_STYLES), chart.levels.items(), strict=False):
            axes.axhline(level, linestyle=style, color=INK, label=label)
        places = sorted({x for series in chart.series for x in series.x})
        if chart.x_names:
            axes.set_xticks(range(len(chart.x_names)), chart.x_names)
            # Room beside the first and the last point.
            axes.set_xlim(-0.5, len(chart.x_names) - 0.5)
        elif len(places) <= MAX_TICKS and not chart.x_log:
            axes.set_xticks(places)
        if chart.x_log:
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter("{x:g}")
        axes.set(xlabel=chart.x_label, ylabel=chart.y_label, title=textwrap.fill(chart.title, TITLE_WIDTH))
        axes.grid(alpha=0.15)
        # Below the axes, where it covers no point.
        labels = axes.get_legend_handles_labels()[1]
        columns = 2 if len(labels) == 4 or max(map(len, labels), default=0) > MAX_LABEL else 3
        figure.legend(loc="outside lower center", ncols=columns, frameon=False)
        folder.mkdir(parents=True, exist_ok=True)
        paths = [folder / f"{chart.name}.{kind}" for kind in ("png", "svg")]
        figure.savefig(paths[0], dpi=200)
        figure.savefig(paths[1], metadata={"Date": None})
    return paths


def inline_svg(drawing: str) -> str:
    """An SVG file of `draw` for use inside an HTML page whose style sheet defines --series-0, --series-1, ….

    Text and lines get the colour of the surrounding text, and the background is left out.
    """
    # HTML allows no XML declaration in its middle, and the metadata only names matplotlib.
    svg = re.sub(r"<metadata>.*?</metadata>", "", drawing[drawing.index("<svg") :], flags=re.DOTALL)
    # matplotlib counts ids from one in every file, so in a page they would repeat. Those that are used are hashes.
    used = set(re.findall(r"#([\w-]+)", svg))
    svg = re.sub(r' id="([^"]+)"', lambda match: match[0] if match[1] in used else "", svg)
    colours = {INK: "currentColor", PAPER: "none"}
    colours |= {colour.lower(): f"var(--series-{i})" for i, colour in enumerate(COLOURS)}
    return re.sub(r"#[0-9a-f]{6}\b", lambda match: colours.get(match[0], match[0]), svg)
