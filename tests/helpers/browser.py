"""The page in a real browser: the system's Chromium, driven by Playwright. Without one the tests skip and say so."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright", reason="no Playwright (pip install playwright): the page isn't tried in a browser")

from playwright.sync_api import Browser, Page, expect, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 30_000
"""Milliseconds after which something counts as never happening, even on a busy machine."""

DRAWN = """() => {
  const canvas = document.getElementById("canvas");
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  const pixels = new Uint32Array(copy.getImageData(0, 0, canvas.width, canvas.height).data.buffer);
  return pixels.reduce((count, pixel) => count + (pixel !== pixels[0]), 0);
}"""
PICTURE = "() => document.getElementById('canvas').toDataURL()"


@contextmanager
def started() -> Iterator[Browser]:
    """A browser; the test is skipped if there is none."""
    program = next((path for name in NAMES if (path := shutil.which(name))), None)
    if program is None:
        pytest.skip(f"no browser ({', '.join(NAMES)}): the page isn't tried in one")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def opened(browser: Browser, file: Path, **options: Any) -> Iterator[Page]:
    """The page in its own window; script errors and requests fail the test."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
    context.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)
    page = context.new_page()
    wrong: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: wrong.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
    page.on("dialog", lambda dialog: wrong.append(f"dialog: {dialog.message}"))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    yield page
    context.close()
    assert not wrong, wrong
    assert asked == [file.as_uri()], asked


def drawn(page: Page) -> int:
    """The number of pixels of the map that aren't background."""
    return int(page.evaluate(DRAWN))


def wait_until_drawn(page: Page) -> None:
    """Wait until the map is drawn."""
    page.wait_for_function(f"() => ({DRAWN})() > 0")


def changed(page: Page, picture: str) -> str:
    """Wait until the map changes, and return the new image."""
    page.wait_for_function(f"before => ({PICTURE})() !== before", arg=picture)
    return picture_of(page)


def picture_of(page: Page) -> str:
    """The image of the map."""
    return str(page.evaluate(PICTURE))


def middle(page: Page) -> tuple[float, float]:
    """The middle of the map, after bringing it into view."""
    page.locator("#canvas").scroll_into_view_if_needed()
    box = page.locator("#canvas").bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def find(page: Page, name: str) -> None:
    """Search for a vertex and go there."""
    page.get_by_label("Find a vertex").fill(name)
    page.get_by_label("Find a vertex").press("Enter")
    expect(page.locator("#chosen-name")).to_have_text(f"Vertex {name}")
