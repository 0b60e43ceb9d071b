"""Find what a page of the site would load from the network. The site must work without one."""

from html.parser import HTMLParser
from pathlib import Path

_LOADING = {"src", "srcset", "data", "poster"}
_NOT_LOADED = {"canonical", "next", "prev"}


class _Loads(HTMLParser):
    """Collects the addresses that a browser loads to show the page; links that a reader may follow are none."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        names = _LOADING | ({"href"} if tag == "link" and values.get("rel") not in _NOT_LOADED else set())
        self.addresses += [value for name, value in values.items() if name in names]


def loaded_from_elsewhere(html: str) -> list[str]:
    """The addresses on other hosts that a page loads.

    >>> loaded_from_elsewhere('<a href="https://a.org"></a><script src="https://b.org/x.js"></script>')
    ['https://b.org/x.js']
    """
    parser = _Loads()
    parser.feed(html)
    return [address for address in parser.addresses if address.startswith(("http:", "https:", "//"))]


def check_site(folder: Path) -> list[str]:
    """A line for each address on another host that a page or a style sheet of the site loads."""
    pages = {path: loaded_from_elsewhere(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.html"))}
    styles = [path for path in sorted(folder.rglob("*.css")) if "url(http" in path.read_text(encoding="utf-8")]
    found = [f"{path.relative_to(folder)}: {address}" for path, loads in pages.items() for address in loads]
    return found + [f"{path.relative_to(folder)}: an address in a style sheet" for path in styles]
