"""Charts: lengths in proportion, nothing outside the frame, every number in words too."""

import re

from hypothesis import given
from hypothesis import strategies as st

from fedwalk.report.charts import BOTTOM, LEFT, RIGHT, TOP, WIDTH, Axis, Bar, Line, bars, columns, lines

amounts = st.floats(0, 1e9)


def numbers(markup: str, attribute: str) -> list[float]:
    return [float(text) for text in re.findall(rf' {attribute}="([-\d.e+]+)"', markup)]


def points(markup: str) -> list[tuple[float, float]]:
    (text,) = re.findall(r'points="([^"]*)"', markup)
    return [(float(x), float(y)) for x, y in (pair.split(",") for pair in text.split())]


def test_bars_are_as_long_as_their_values() -> None:
    drawn = bars("Bytes", [Bar("a", 100, "100 B"), Bar("b", 25, "25 B"), Bar("c", 0, "0 B")])
    longest, quarter, nothing = numbers(drawn, "width")
    assert abs(quarter - longest / 4) < 0.02
    assert nothing == 0
    assert "<desc>a: 100 B; b: 25 B; c: 0 B.</desc>" in drawn


def test_a_small_bar_is_still_seen() -> None:
    assert min(numbers(bars("Bytes", [Bar("a", 1e12, "1 TB"), Bar("b", 1, "1 B")]), "width")) >= 1


@given(st.lists(st.tuples(st.text("abcdefgh <&", max_size=25), amounts), min_size=1, max_size=12))
def test_bars_stay_inside_the_frame(rows: list[tuple[str, float]]) -> None:
    drawn = bars("Time", [Bar(label, value, f"{value:.1e}") for label, value in rows])
    for start, width in zip(numbers(drawn, "x")[1::3], numbers(drawn, "width"), strict=True):
        assert 0 < start <= start + width < WIDTH


@given(st.lists(st.tuples(st.floats(0.1, 1e6), st.floats(1e-5, 1.0)), min_size=1, max_size=30), st.booleans())
def test_lines_stay_inside_the_frame(pairs: list[tuple[float, float]], log: bool) -> None:
    warp = "log" if log else "linear"
    x, y = zip(*sorted(pairs), strict=True)
    drawn = lines("Degrees", "", [Line("true", x, y)], Axis("degree", warp), Axis("share", warp))
    for across, up in points(drawn):
        assert LEFT - 0.1 <= across <= RIGHT + 0.1
        assert TOP - 0.1 <= up <= BOTTOM + 0.1


def test_higher_is_further_up_and_error_bars_reach_both_ways() -> None:
    line = Line("micro", (0.1, 0.5, 0.9), (0.2, 0.3, 0.4), (0.05, 0.05, 0.05), marks=True)
    drawn = lines("F1", "", [line], Axis("ratio"), Axis("F1"))
    heights = [up for _, up in points(drawn)]
    assert heights == sorted(heights, reverse=True)
    ends = re.findall(r'class="spread[^>]* y1="([\d.]+)" y2="([\d.]+)"', drawn)
    for middle, (low, high) in zip(heights, ends, strict=True):
        assert float(high) < middle < float(low)


def test_series_are_told_apart_by_more_than_a_place() -> None:
    drawn = lines("D", "", [Line("true", (1, 2), (1, 2)), Line("noised", (1, 2), (2, 1))], Axis("x"), Axis("y"))
    assert ">true<" in drawn
    assert ">noised<" in drawn
    assert drawn.count("series-0") == drawn.count("series-1") == 2


def test_columns_stand_on_the_axis_as_high_as_their_counts() -> None:
    drawn = columns("Visits", "", (1, 10, 100), (4, 2), Axis("visits", "log"), Axis("vertices"))
    high, low = numbers(drawn, "height")
    assert high == 2 * low == BOTTOM - TOP
    assert len(set(numbers(drawn, "width"))) == 1
