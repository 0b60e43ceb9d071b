"""Build inline SVG as safe markup, and scales that map values to positions.

All text is escaped. Colours come from the page's style sheet, so that drawings adapt to dark mode and print.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from markupsafe import Markup

WARPS: dict[str, Callable[[float], float]] = {"linear": lambda value: value, "sqrt": math.sqrt, "log": math.log10}
"""How a scale transforms values before it maps them linearly."""


def element(name: str, *content: str, **attributes: object) -> Markup:
    """An SVG element; the attributes `class_` and `text_anchor` become `class` and `text-anchor`.

    >>> element("text", "a < b", class_="tick", x=1.0)
    Markup('<text class="tick" x="1">a &lt; b</text>')
    """
    written = [Markup(' {}="{}"').format(_attribute(key), _number(value)) for key, value in attributes.items()]
    tag = Markup(name)
    return Markup("<{}{}>{}</{}>").format(tag, Markup("").join(written), Markup("").join(content), tag)


def _attribute(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def _number(value: object) -> object:
    """Round floats to hundredths of a pixel, which keeps the file small, and turn -0 into 0."""
    return f"{round(value, 2) + 0.0:g}" if isinstance(value, float) else value


def drawing(title: str, description: str, width: float, height: float, *content: str) -> Markup:
    """An SVG image with a title and a description for screen readers."""
    return element(
        "svg",
        element("title", title),
        element("desc", description),
        *content,
        viewBox=f"0 0 {width:g} {height:g}",
        role="img",
    )


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps values from `low` to `high` onto positions from `start` to `stop`; values outside are drawn at the edge.

    Examples
    --------
    >>> scale = Scale(1, 1000, 0, 300, "log")
    >>> scale(10), scale(5000), scale.ticks()
    (100.0, 300.0, [1.0, 10.0, 100.0, 1000.0])
    """

    low: float
    high: float
    start: float
    stop: float
    warp: str = "linear"

    def __post_init__(self) -> None:
        if not self.low < self.high or (self.warp == "log" and self.low <= 0) or (self.warp == "sqrt" and self.low < 0):
            raise ValueError(f"a {self.warp} scale can't range from {self.low} to {self.high}")

    def __call__(self, value: float) -> float:
        """The position of a value."""
        warp = WARPS[self.warp]
        low, high = warp(self.low), warp(self.high)
        share = (warp(min(max(value, self.low), self.high)) - low) / (high - low)
        return self.start + share * (self.stop - self.start)

    def ticks(self, count: int = 5) -> list[float]:
        """About `count` round values within the scale."""
        if self.warp == "log":
            return self._log_ticks(count)
        step = _round_up((self.high - self.low) / count)
        # The tolerance keeps a tick at either end in spite of rounding errors.
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [i * step for i in range(first, last + 1)]

    def _log_ticks(self, count: int) -> list[float]:
        """Powers of ten: only every second or third if there are many, also 2 and 5 times them if there are few."""
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        factors = (1, 2, 5) if self.high < 100 * self.low else (1,)
        every = max(1, math.ceil(len(powers) / (count + 3)))
        candidates = [factor * 10.0**power for power in powers[::every] for factor in factors]
        return [value for value in candidates if self.low * (1 - 1e-9) <= value <= self.high * (1 + 1e-9)]


def _round_up(step: float) -> float:
    """The smallest of …, 0.5, 1, 2, 5, 10, … that is at least `step`."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= step * (1 - 1e-9))


def spanning(values: Iterable[float], start: float, stop: float, warp: str = "linear") -> Scale:
    """A scale over all values. Linear and square-root scales begin at zero, and no scale has zero length."""
    known = list(values)
    high = max(known, default=1.0)
    if warp == "log":
        low = min(known, default=1.0)
        return Scale(low, max(high, low * 10), start, stop, warp)
    return Scale(0.0, high if high > 0 else 1.0, start, stop, warp)
