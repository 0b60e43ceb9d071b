"""What a section of the page is made of, whoever fills it: words, figures with their numbers, and what is missing."""

from dataclasses import dataclass

from markupsafe import Markup


@dataclass(frozen=True, slots=True)
class Table:
    """Numbers behind the figures; the first column names the rows."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing, and what it shows in a sentence."""

    drawing: Markup
    caption: str


@dataclass(frozen=True, slots=True)
class Absent:
    """Something that this report can't show: why, and the command that would make it possible."""

    reason: str
    command: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page with a heading; `key` is its anchor."""

    key: str
    title: str
    text: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    table: Table | None = None
    absent: tuple[Absent, ...] = ()


@dataclass(frozen=True, slots=True)
class Card:
    """A key number at the top of the page."""

    name: str
    value: str
    note: str = ""
