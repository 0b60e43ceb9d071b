"""The parts of a section of the page: text, figures with their numbers, and notes about what is missing."""

from dataclasses import dataclass

from markupsafe import Markup


@dataclass(frozen=True, slots=True)
class Table:
    """The numbers of a section; the first column names the rows."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing with a caption of one sentence."""

    drawing: Markup
    caption: str


@dataclass(frozen=True, slots=True)
class Absent:
    """Something that the report can't show: the reason, and the command that would add it."""

    reason: str
    command: str = ""


@dataclass(frozen=True, slots=True)
class Explained:
    """A number with what a reader needs to judge it: a heading, the number in words, and terms with explanations."""

    title: str
    value: str
    terms: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the page with a heading; `key` is its anchor."""

    key: str
    title: str
    text: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    table: Table | None = None
    absent: tuple[Absent, ...] = ()
    explained: tuple[Explained, ...] = ()


@dataclass(frozen=True, slots=True)
class Card:
    """A key figure at the top of the page."""

    name: str
    value: str
    note: str = ""
