"""Parse a page without a browser."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from fedwalk.report import build_report

VOID = {"meta", "link", "input", "br", "img"}


class Page(HTMLParser):
    """Elements, attributes and text of a page; fails if a tag is closed that isn't open."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
            self.texts.setdefault(tag, []).append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        for tag in set(self.open):
            self.texts[tag][-1] += data

    def tags(self) -> list[str]:
        return [tag for tag, _ in self.elements]

    def attributes(self, name: str) -> list[str | None]:
        return [attributes[name] for _, attributes in self.elements if name in attributes]


def data_of(page: str) -> dict[str, Any]:
    """The map's data."""
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    content: dict[str, Any] = json.loads(text)
    return content


def quick(run: Path, **options: Any) -> str:
    """A page that is made quickly: principal components, one split, one thread."""
    return build_report(run, **{"layout": "pca", "splits": 1, "threads": 1, **options})
