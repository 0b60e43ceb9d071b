"""What mkdocs calls while it builds the site: adds pages, fills in references, runs notebooks, checks the result."""

from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File
from nbclient.exceptions import CellExecutionError

from command_reference import command_reference
from loaded_files import check_site
from notebooks import FOLDER, as_file, as_page
from outside import outside_pages, rewrite_links
from settings_reference import settings_reference

GENERATED = {
    "<!-- generated: commands -->": command_reference,
    "<!-- generated: settings -->": settings_reference,
}
"""The part of a page that is written when the site is built, by the comment that stands for it."""


def on_files(files: Any, config: Any) -> Any:
    """Add the pages from outside docs/ and the notebooks as files."""
    for page, text in outside_pages().items():
        files.append(File.generated(config, page, content=text))
    for file in list(files):
        if file.src_uri.startswith(FOLDER) and file.src_uri.endswith(".md"):
            try:
                notebook = as_file(file.content_string)
            except CellExecutionError as error:
                raise PluginError(f"{file.src_uri}: a cell failed.\n{error}") from error
            files.append(File.generated(config, file.src_uri.removesuffix(".md") + ".ipynb", content=notebook))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Show a notebook with its outputs, fill in what is generated, and let links lead to pages."""
    place = page.file.src_uri
    if page.is_homepage:
        page.meta["hide"] = ["navigation"]  # it would list this page alone
    if place.startswith(FOLDER):
        markdown = as_page(page.file.content_string, Path(place).stem)
    for mark, generate in GENERATED.items():
        if mark in markdown:
            markdown = markdown.replace(mark, generate())
    return rewrite_links(markdown, place)


def on_post_build(config: Any) -> None:
    """Fail if a page would load anything from the network."""
    if found := check_site(Path(config.site_dir)):
        raise PluginError("The site must work without a network, but it loads:\n" + "\n".join(found))
