"""The charts of the page: horizontal bars, lines and histograms.

They are as narrow as a phone's screen, and their text is large enough to read there. Series differ in dashes and marks
as well as in colour.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup

from fedwalk.report.svg import Scale, drawing, element, spanning
from fedwalk.util.text import short_text

WIDTH = 380.0
HEIGHT = 260.0
LETTER = 7.0
"""Mean width of a letter in a chart. SVG can't measure text, so labels get room by their length."""
ROW = 26.0
LEFT, RIGHT, TOP, BOTTOM = 50.0, WIDTH - 14, 50.0, HEIGHT - 42


@dataclass(frozen=True, slots=True)
class Bar:
    """A value with a name; `text` is the value as it is printed."""

    label: str
    value: float
    text: str


@dataclass(frozen=True, slots=True)
class Line:
    """Points joined by a line. `spread` has half the length of each error bar; `marks` draws a circle at each point."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    spread: Sequence[float] = ()
    marks: bool = False


@dataclass(frozen=True, slots=True)
class Axis:
    """The name of an axis, its scale (a key of `svg.WARPS`), and the text of its ticks."""

    name: str
    warp: str = "linear"
    text: Callable[[float], str] = short_text


def bars(title: str, rows: Sequence[Bar]) -> Markup:
    """Horizontal bars from zero, each with its value printed at its end."""
    left = min(max((len(row.label) for row in rows), default=0) * LETTER + 10, 0.45 * WIDTH)
    right = WIDTH - max((len(row.text) for row in rows), default=0) * LETTER - 10
    scale = spanning([row.value for row in rows], left, right)
    content: list[Markup] = []
    for i, row in enumerate(rows):
        middle = (i + 0.5) * ROW
        # A positive value is at least one pixel wide, so that it can be seen.
        width = max(scale(row.value) - left, 1.0 if row.value > 0 else 0.0)
        content += [
            element("text", row.label, class_="name end", x=left - 8, y=middle + 4),
            element("rect", class_="bar", x=left, y=middle - 8, width=width, height=16, rx=2),
            element("text", row.text, class_="value", x=left + width + 6, y=middle + 4),
        ]
    description = "; ".join(f"{row.label}: {row.text}" for row in rows) + "."
    return drawing(title, description, WIDTH, len(rows) * ROW, *content)


def lines(title: str, description: str, series: Sequence[Line], x: Axis, y: Axis) -> Markup:
    """One or more lines with common axes."""
    across = spanning([value for line in series for value in line.x], LEFT, RIGHT, x.warp)
    up = spanning([value for line in series for value in _reach(line)], BOTTOM, TOP, y.warp)
    content = [*_axes(across, up, x, y), *_legend([line.name for line in series])]
    for i, line in enumerate(series):
        points = [(across(a), up(b)) for a, b in zip(line.x, line.y, strict=True)]
        content.append(element("polyline", class_=f"line series-{i}", points=_path(points)))
        if line.marks:
            content += [element("circle", class_=f"mark series-{i}", cx=a, cy=b, r=3.5) for a, b in points]
        for a, b, half in zip(line.x, line.y, line.spread, strict=False):
            place = across(a)
            content.append(
                element("line", class_=f"spread series-{i}", x1=place, x2=place, y1=up(b - half), y2=up(b + half))
            )
    return drawing(title, description, WIDTH, HEIGHT, *content)


def columns(title: str, description: str, edges: Sequence[float], counts: Sequence[int], x: Axis, y: Axis) -> Markup:
    """A histogram: one column between each two consecutive edges."""
    across = Scale(edges[0], edges[-1], LEFT, RIGHT, x.warp)
    up = spanning(counts, BOTTOM, TOP, y.warp)
    content = _axes(across, up, x, y)
    for (low, high), count in zip(pairwise(edges), counts, strict=True):
        left, right, top = across(low), across(high), up(count)
        width = max(right - left - 1, 0.5)
        content.append(element("rect", class_="bar", x=left, y=top, width=width, height=BOTTOM - top))
    return drawing(title, description, WIDTH, HEIGHT, *content)


def _reach(line: Line) -> list[float]:
    """The line's values and the upper ends of its error bars."""
    return [*line.y, *(value + half for value, half in zip(line.y, line.spread, strict=False))]


def _path(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in points)


def _axes(across: Scale, up: Scale, x: Axis, y: Axis) -> list[Markup]:
    """The grid, the ticks and the names of both axes."""
    content = [
        element("text", y.name, class_="axis", x=4, y=14),
        element("text", x.name, class_="axis middle", x=(LEFT + RIGHT) / 2, y=HEIGHT - 6),
    ]
    for value in up.ticks():
        place = up(value)
        content.append(element("line", class_="grid", x1=LEFT, x2=RIGHT, y1=place, y2=place))
        content.append(element("text", y.text(value), class_="tick end", x=LEFT - 6, y=place + 4))
    for value in across.ticks():
        place = across(value)
        content.append(element("line", class_="stroke", x1=place, x2=place, y1=BOTTOM, y2=BOTTOM + 4))
        content.append(element("text", x.text(value), class_="tick middle", x=place, y=BOTTOM + 18))
    content.append(element("line", class_="stroke", x1=LEFT, x2=RIGHT, y1=BOTTOM, y2=BOTTOM))
    return content


def _legend(names: Sequence[str]) -> list[Markup]:
    """A sample line and the name of each series, above the plot."""
    content: list[Markup] = []
    place = LEFT
    for i, name in enumerate(names):
        content.append(element("line", class_=f"line series-{i}", x1=place, x2=place + 24, y1=34, y2=34))
        content.append(element("text", name, class_="name", x=place + 30, y=38))
        place += 30 + len(name) * LETTER + 22
    return content
