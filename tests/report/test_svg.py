"""Scales and elements: order is kept, ticks lie inside, text stays text."""

import math
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedwalk.report.svg import Scale, drawing, element, spanning

sizes = st.floats(1e-6, 1e9)
warps = st.sampled_from(["linear", "sqrt", "log"])


class Reader(HTMLParser):
    """Collects what a browser would see."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: dict[str, str | None] = {}
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= dict(attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


def read(markup: str) -> Reader:
    reader = Reader()
    reader.feed(str(markup))
    reader.close()
    return reader


@given(st.lists(sizes, min_size=2, max_size=9), warps)
def test_a_scale_keeps_the_order_of_its_values(values: list[float], warp: str) -> None:
    scale = spanning(values, 10, 300, warp)
    places = [scale(value) for value in sorted(values)]
    assert places == sorted(places)
    assert all(10 <= place <= 300 + 1e-9 for place in places)


@given(st.lists(sizes, min_size=1, max_size=9), warps)
def test_a_scale_that_falls_turns_the_order_round(values: list[float], warp: str) -> None:
    scale = spanning(values, 300, 10, warp)
    places = [scale(value) for value in sorted(values)]
    assert places == sorted(places, reverse=True)


@given(sizes, st.floats(1.001, 1e12), warps, st.integers(2, 8))
def test_ticks_ascend_within_the_scale(low: float, factor: float, warp: str, count: int) -> None:
    scale = spanning([low, low * factor], 0, 100, warp)
    ticks = scale.ticks(count)
    assert ticks == sorted(set(ticks))
    assert all(scale.low * (1 - 1e-6) <= tick <= scale.high * (1 + 1e-6) for tick in ticks)
    assert 1 <= len(ticks) <= 4 * count


@given(st.integers(-6, 8), st.integers(2, 12))
def test_a_log_scale_over_decades_has_powers_of_ten(power: int, decades: int) -> None:
    ticks = Scale(10.0**power, 10.0 ** (power + decades), 0, 1, "log").ticks()
    assert len(ticks) > 1
    assert all(math.isclose(math.log10(tick), round(math.log10(tick)), abs_tol=1e-9) for tick in ticks)


def test_values_outside_are_drawn_at_the_edge() -> None:
    scale = Scale(1, 100, 0, 50, "log")
    assert (scale(0), scale(-3), scale(1e9)) == (0, 0, 50)


@pytest.mark.parametrize(("low", "high", "warp"), [(1, 1, "linear"), (2, 1, "linear"), (0, 1, "log"), (-1, 1, "sqrt")])
def test_a_scale_without_extent_is_refused(low: float, high: float, warp: str) -> None:
    with pytest.raises(ValueError, match="can't range"):
        Scale(low, high, 0, 1, warp)


@pytest.mark.parametrize("values", [[], [0.0], [0.0, 0.0], [5.0]])
@pytest.mark.parametrize("warp", ["linear", "sqrt"])
def test_a_scale_spans_even_nothing(values: list[float], warp: str) -> None:
    assert spanning(values, 0, 100, warp)(0) == 0


@given(st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=40))
def test_text_and_attributes_stay_text(text: str) -> None:
    seen = read(element("text", text, id=text))
    assert seen.tags == ["text"]
    assert seen.text == text
    assert seen.attributes["id"] == text


def test_names_of_attributes_are_those_of_svg() -> None:
    assert element("line", class_="a", stroke_width=2.0, x1=-0.001) == '<line class="a" stroke-width="2" x1="0"></line>'


def test_a_drawing_has_a_name_and_a_description() -> None:
    seen = read(drawing("Hops", "a < b", 10, 20, element("g")))
    assert seen.tags == ["svg", "title", "desc", "g"]
    assert seen.text == "Hopsa < b"
    assert seen.attributes["role"] == "img"
