"""The page as its reader uses it: looking, pointing, searching, by mouse, touch and keyboard."""

import csv
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("playwright", reason="no Playwright (pip install playwright): the page isn't tried in a browser")

from playwright.sync_api import Browser, Locator, Page, expect

from fedwalk.embedding import Embedding
from fedwalk.graph import load_graph
from helpers.browser import changed, drawn, find, middle, opened, picture_of, started, wait_until_drawn
from helpers.pages import quick
from helpers.run_folders import NASTY, embed, nasty, untrained

FOCUSED = """() => {
  const element = document.activeElement;
  if (element === document.body) return null;
  const label = element.labels && element.labels.length ? element.labels[0].textContent : "";
  return [element.id || element.className || element.tagName,
          (element.getAttribute("aria-label") || label || element.textContent).trim()];
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started() as found:
        yield found


@pytest.fixture(scope="module")
def small(runs: dict[str, Path], labels_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("small") / "report.html"
    file.write_text(quick(runs["paper"], labels=str(labels_file)), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = untrained(tmp_path_factory.mktemp("large") / "run", 10_000)
    (run / "report.html").write_text(quick(run, labels=str(run / "labels.txt"), splits=None), encoding="utf-8")
    return run / "report.html"


@pytest.fixture(params=["small", pytest.param("large", marks=pytest.mark.slow)])
def page(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Page]:
    with opened(browser, request.getfixturevalue(request.param)) as found:
        wait_until_drawn(found)
        yield found


def test_the_plots_are_drawn_and_nothing_is_loaded(page: Page) -> None:
    assert drawn(page) > 500
    for chart in page.locator("figure svg").all():
        box = chart.bounding_box()
        assert box is not None
        assert min(box["width"], box["height"]) > 50


def test_search_finds_a_vertex_names_it_and_lists_the_nearest(page: Page) -> None:
    before = picture_of(page)
    find(page, "17")
    expect(page.locator("#readout")).to_contain_text("Vertex 17 · label")
    expect(page.locator("#chosen-near button")).to_have_count(5)
    changed(page, before)
    other = page.locator("#chosen-near button").first
    name = other.inner_text()
    other.click()
    expect(page.locator("#chosen-name")).to_have_text(f"Vertex {name}")


def test_search_says_when_there_is_no_such_vertex(page: Page) -> None:
    page.get_by_label("Find a vertex").fill("unknown")
    expect(page.locator("#search-status")).to_contain_text("No vertex on the map is called “unknown”.")
    expect(page.locator("#matches button")).to_have_count(0)
    page.get_by_label("Find a vertex").press("Enter")
    expect(page.locator("#chosen")).to_be_hidden()


def test_the_exact_name_comes_first_among_the_matches(page: Page) -> None:
    page.get_by_label("Find a vertex").fill("5")
    expect(page.locator("#matches button").first).to_have_text("5")
    assert 1 < page.locator("#matches button").count() <= 12


def test_pointing_at_a_vertex_names_it_and_clicking_chooses_it(page: Page) -> None:
    find(page, "23")
    x, y = middle(page)
    page.mouse.move(x + 300, y + 250)
    page.mouse.move(x, y)
    expect(page.locator("#readout")).to_contain_text("Vertex 23 ·")
    find(page, "42")
    page.mouse.click(*middle(page))
    expect(page.locator("#chosen-name")).to_have_text("Vertex 42")


def test_dragging_moves_the_map_with_the_vertex_under_the_hand(page: Page) -> None:
    find(page, "23")
    x, y = middle(page)
    before = picture_of(page)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 60, y + 40, steps=5)
    page.mouse.up()
    changed(page, before)
    page.mouse.move(x - 200, y)
    page.mouse.move(x + 60, y + 40)
    expect(page.locator("#readout")).to_contain_text("Vertex 23 ·")


def test_the_wheel_zooms_the_map_once_it_has_the_focus_and_scrolls_the_page_otherwise(page: Page) -> None:
    page.mouse.move(*middle(page))
    before, top = picture_of(page), page.evaluate("scrollY")
    page.mouse.wheel(0, 120)
    page.wait_for_function("top => scrollY > top", arg=top)
    assert drawn(page) > 0
    page.locator("#canvas").focus()
    page.mouse.move(*middle(page))
    page.mouse.wheel(0, -240)
    changed(page, before)


def test_buttons_zoom_and_bring_the_whole_map_back(page: Page) -> None:
    whole = picture_of(page)
    page.get_by_role("button", name="Zoom in").click()
    closer = changed(page, whole)
    page.get_by_role("button", name="Zoom out").click()
    changed(page, closer)
    page.get_by_role("button", name="Zoom out").click()
    page.get_by_role("button", name="Whole map").click()
    page.wait_for_function("before => document.getElementById('canvas').toDataURL() === before", arg=whole)


def test_the_keyboard_moves_zooms_and_chooses(page: Page) -> None:
    page.locator("#canvas").focus()
    picture = picture_of(page)
    for key in ("ArrowRight", "ArrowDown", "+", "+", "ArrowLeft", "-"):
        page.keyboard.press(key)
        picture = changed(page, picture)
    readout = page.locator("#readout").inner_text()
    assert readout.startswith("Vertex ")
    page.keyboard.press("Enter")
    expect(page.locator("#chosen-name")).to_have_text(readout.split(" · ")[0])


def test_a_legend_entry_hides_its_vertices(page: Page) -> None:
    all_of_them, before = drawn(page), picture_of(page)
    entry = page.locator(".key").first
    entry.press("Enter")
    expect(entry).to_have_attribute("aria-pressed", "false")
    hidden = changed(page, before)
    assert drawn(page) < all_of_them
    entry.click()
    changed(page, hidden)
    assert drawn(page) == all_of_them


def test_every_control_is_reached_by_tab_and_has_a_name(browser: Browser, small: Path) -> None:
    with opened(browser, small) as page:
        find(page, "17")
        page.locator(".skip").focus()
        seen: list[tuple[str, str]] = []
        while (focused := page.evaluate(FOCUSED)) is not None and len(seen) < 200:
            seen.append((focused[0], focused[1]))
            page.keyboard.press("Tab")
        controls = page.locator("a, button, input, canvas, summary, [tabindex='0']")
        assert len(seen) == sum(control.is_visible() for control in controls.all())
        assert all(name for _, name in seen)
        assert seen[0] == ("skip", "Skip to the report")
        assert {"search", "canvas", "closer", "key", "SUMMARY"} <= {where for where, _ in seen}
        assert page.locator("html").get_attribute("lang") == "en"


def test_colours_follow_the_readers_choice(browser: Browser, small: Path) -> None:
    with opened(browser, small, color_scheme="light") as page:
        wait_until_drawn(page)
        light = picture_of(page)
        page.emulate_media(color_scheme="dark")
        changed(page, light)
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(16, 19, 24)"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_paper_is_white_and_shows_every_number(browser: Browser, small: Path, scheme: str) -> None:
    watch = """() => addEventListener("beforeprint", () => {
      const canvas = document.getElementById("canvas");
      window.onPaper = [document.querySelectorAll("details:not([open])").length,
                        [...canvas.getContext("2d").getImageData(2, 2, 1, 1).data]];
    })"""
    with opened(browser, small, color_scheme=scheme) as page:
        wait_until_drawn(page)
        folded, picture = page.locator("details:not([open])").count(), picture_of(page)
        page.evaluate(watch)
        assert len(page.pdf(format="A4")) > 10_000
        assert page.evaluate("window.onPaper") == [0, [255, 255, 255, 255]]
        assert page.locator("details:not([open])").count() == folded > 0
        assert picture_of(page) == picture


def test_a_phone_shows_all_of_it_without_scrolling_sideways(browser: Browser, small: Path) -> None:
    options = {
        "viewport": {"width": 390, "height": 844},
        "device_scale_factor": 3,
        "has_touch": True,
        "is_mobile": True,
    }
    with opened(browser, small, **options) as page:
        wait_until_drawn(page)
        assert page.get_by_text("The map needs JavaScript").is_hidden()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        sizes = page.evaluate(
            "[...document.querySelectorAll('figure svg')].map(svg => 12 * svg.clientWidth / svg.viewBox.baseVal.width)"
        )
        assert min(sizes) > 10.5
        find(page, "17")
        page.get_by_role("button", name="Whole map").tap()
        find(page, "23")
        page.touchscreen.tap(*middle(page))
        expect(page.locator("#readout")).to_contain_text("Vertex 23 ·")


def saved(page: Page, button: Locator) -> list[list[str]]:
    """The rows of the CSV file that a button saves."""
    with page.expect_download() as waiting:
        button.click()
    with waiting.value.path().open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def test_all_vectors_are_saved_with_every_bit(browser: Browser, small: Path, runs: dict[str, Path]) -> None:
    embedding = Embedding.load(runs["paper"] / "embedding.npz")
    with opened(browser, small) as page:
        head, *rows = saved(page, page.get_by_role("button", name="Save all vectors as CSV"))
    assert head == ["vertex", *(f"x{i}" for i in range(embedding.vectors.shape[1]))]
    assert sorted(row[0] for row in rows) == sorted(str(name) for name in embedding)
    by_name = {row[0]: np.array(row[1:], np.float32) for row in rows}
    assert all(by_name[str(name)].tobytes() == embedding[name].tobytes() for name in embedding)


def test_every_table_can_be_saved_as_it_is_shown(browser: Browser, small: Path) -> None:
    with opened(browser, small) as page:
        tables = page.locator("details table").count()
        buttons = page.locator("details .save")
        assert buttons.count() == tables > 5
        for i in range(tables):
            details = page.locator("details").nth(i)
            if details.get_attribute("open") is None:
                details.locator("summary").click()
            cells = details.locator("tr").evaluate_all("rows => rows.map(r => [...r.cells].map(c => c.textContent))")
            assert saved(page, buttons.nth(i)) == cells


def test_names_with_commas_and_quotes_survive_in_the_saved_file(browser: Browser, tmp_path: Path) -> None:
    names = ['a,b "c"', "=1+1", "line", "two  words", "é"]
    path = tmp_path / "graph.edges"
    path.write_text("".join(f"{one}\t{other}\n" for one, other in pairwise([*names, names[0]])), encoding="utf-8")
    run = embed(load_graph(path), tmp_path / "run", origin=path)
    (run / "report.html").write_text(quick(run), encoding="utf-8")
    with opened(browser, run / "report.html") as page:
        rows = saved(page, page.get_by_role("button", name="Save all vectors as CSV"))
    assert sorted(row[0] for row in rows[1:]) == sorted(names)


def test_without_javascript_the_charts_are_still_there(browser: Browser, small: Path) -> None:
    with opened(browser, small, java_script_enabled=False) as page:
        expect(page.get_by_text("The map needs JavaScript")).to_be_visible()
        assert page.locator("figure svg").count() >= 8
        assert not any(button.is_visible() for button in page.locator(".save").all())


def test_names_that_are_code_are_shown_and_not_run(browser: Browser, tmp_path: Path) -> None:
    run, labels = nasty(tmp_path / "nasty")
    (run / "report.html").write_text(quick(run, labels=str(labels), title=NASTY), encoding="utf-8")
    with opened(browser, run / "report.html") as page:
        wait_until_drawn(page)
        find(page, f"{NASTY}17")
        page.mouse.move(*middle(page))
        expect(page.locator("#readout")).to_contain_text(f"Vertex {NASTY}17 · label ")
        assert page.locator("img").count() == 0
