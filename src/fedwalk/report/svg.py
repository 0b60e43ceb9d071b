"""Inline SVG as safe markup, and scales from values to positions.

Text that goes in is escaped; colours are left to the page's style sheet, so that a drawing follows dark mode and print.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from markupsafe import Markup

WARPS: dict[str, Callable[[float], float]] = {"linear": lambda value: value, "sqrt": math.sqrt, "log": math.log10}


def element(name: str, *content: str, **attributes: object) -> Markup:
    """An element; `class_` and `text_anchor` are written as `class` and `text-anchor`.

    >>> element("text", "a < b", class_="tick", x=1.0)
    Markup('<text class="tick" x="1">a &lt; b</text>')
    """
    written = [Markup(' {}="{}"').format(_attribute(key), _number(value)) for key, value in attributes.items()]
    tag = Markup(name)
    return Markup("<{}{}>{}</{}>").format(tag, Markup("").join(written), Markup("").join(content), tag)


def _attribute(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def _number(value: object) -> object:
    """Hundredths of a pixel are enough, and zero needs no sign."""
    return f"{round(value, 2) + 0.0:g}" if isinstance(value, float) else value


def drawing(title: str, description: str, width: float, height: float, *content: str) -> Markup:
    """An image with a name and a description for those who can't see it."""
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
    """Values from `low` to `high` mapped onto positions from `start` to `stop`; what lies outside is drawn at the edge.

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
            raise ValueError(f"a {self.warp} scale can't reach from {self.low} to {self.high}")

    def __call__(self, value: float) -> float:
        """The position of a value."""
        warp = WARPS[self.warp]
        low, high = warp(self.low), warp(self.high)
        share = (warp(min(max(value, self.low), self.high)) - low) / (high - low)
        return self.start + share * (self.stop - self.start)

    def ticks(self, count: int = 5) -> list[float]:
        """Round values within the scale, about `count` of them."""
        if self.warp == "log":
            return self._log_ticks(count)
        step = _round_up((self.high - self.low) / count)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [i * step for i in range(first, last + 1)]

    def _log_ticks(self, count: int) -> list[float]:
        """Powers of ten, every second or third of them if there are many; 1, 2 and 5 times them if there are few."""
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        factors = (1, 2, 5) if self.high < 100 * self.low else (1,)
        every = max(1, math.ceil(len(powers) / (count + 3)))
        found = [factor * 10.0**power for power in powers[::every] for factor in factors]
        return [value for value in found if self.low * (1 - 1e-9) <= value <= self.high * (1 + 1e-9)]


def _round_up(step: float) -> float:
    """The next of …, 0.5, 1, 2, 5, 10, …"""
    power = 10.0 ** math.floor(math.log10(step))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= step * (1 - 1e-9))


def spanning(values: Iterable[float], start: float, stop: float, warp: str = "linear") -> Scale:
    """A scale over all the values; linear and square-root ones begin at zero, and none is without extent."""
    known = list(values)
    high = max(known, default=1.0)
    if warp == "log":
        low = min(known, default=1.0)
        return Scale(low, max(high, low * 10), start, stop, warp)
    return Scale(0.0, high if high > 0 else 1.0, start, stop, warp)
