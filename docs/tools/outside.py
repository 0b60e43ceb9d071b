"""Pages of the site whose text is elsewhere in the repository, and links between all of them.

Files such as CHANGELOG.md and the programs in examples/ are not under docs/, where mkdocs looks. They become pages
here. Relative links are rewritten, so that the same link leads to the file in the repository and to the page on the
site.
"""

import ast
import posixpath
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]

PAGES = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "src/fedwalk/protocols/ldp/PROOFS.md": "proofs.md",
}
"""The page of each Markdown file outside docs/."""

EXAMPLES = "examples.md"
"""The page that shows every program of examples/."""

_LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?\)")


def example_programs() -> list[Path]:
    """The programs of examples/, the simplest first."""
    programs = [path for path in (ROOT / "examples").rglob("*.py") if "__pycache__" not in path.parts]
    return sorted(programs, key=lambda path: (len(path.parts), path.name != "python_api.py", path.name))


def examples_page() -> str:
    """The page of examples: each program with the first line of its docstring as an introduction."""
    parts = ["# Examples", "Short programs that run as they stand. The test suite runs each of them."]
    for path in example_programs():
        source = path.read_text(encoding="utf-8")
        title = (ast.get_docstring(ast.parse(source)) or "").split("\n")[0]
        place = path.relative_to(ROOT).as_posix()
        parts += [f"## {place} {{ #{path.stem} }}", title, f"```python\n{source.rstrip()}\n```"]
    return "\n\n".join(parts) + "\n"


def outside_pages() -> dict[str, str]:
    """The text of each page that comes from outside docs/, by its path on the site."""
    pages = {page: (ROOT / source).read_text(encoding="utf-8") for source, page in PAGES.items()}
    return {**pages, EXAMPLES: examples_page()}


def page_of(place: str) -> str | None:
    """The page, with its anchor, that shows a path of the repository; None if no page does."""
    if place.startswith("docs/"):
        return place.removeprefix("docs/")
    if place == "examples":
        return EXAMPLES
    for program in example_programs():
        # A link can name a program or the folder that it is alone in.
        if ROOT / place in (program, program.parent):
            return f"{EXAMPLES}#{program.stem}"
    return PAGES.get(place)


def rewrite_links(text: str, page: str) -> str:
    """Let the relative links of a page's Markdown lead to pages of the site.

    Links to files that have no page stay as they are, and mkdocs reports them.
    """
    origin = {site: source for source, site in PAGES.items()}.get(page, f"docs/{page}")

    def rewrite(link: re.Match[str]) -> str:
        target = page_of(posixpath.normpath(posixpath.join(posixpath.dirname(origin), link[1])))
        if target is None:
            return link[0]
        return f"]({posixpath.relpath(target, posixpath.dirname(page) or '.')}{link[2] or ''})"

    return _LINK.sub(rewrite, text)
