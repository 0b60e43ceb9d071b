"""Run the notebooks of docs/notebooks/ and turn them into pages.

A notebook is a Markdown file whose ```python blocks are its cells (Jupytext's format), which reads well in a review and
opens in Jupyter. Building the site runs it from top to bottom; a cell that fails fails the build. The page shows each
cell with its output, and offers the notebook with its outputs for download.
"""

import base64
from functools import cache
from html import escape
from tempfile import TemporaryDirectory
from typing import Any

import jupytext
import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

FOLDER = "notebooks/"
TIMEOUT = 300
"""Seconds for one cell; the first ones may have to compile fedwalk's kernels."""
FIGURES = "--InlineBackend.figure_formats={'svg'}"


@cache
def executed(text: str) -> Any:
    """The notebook with its outputs. `mkdocs serve` builds the site again and again: unchanged text runs once."""
    notebook = jupytext.reads(text, fmt="md")
    with TemporaryDirectory() as folder:
        # Sockets in a private folder: no port is opened, to which other users of the machine could connect.
        sockets = Config({"KernelManager": {"transport": "ipc", "ip": f"{folder}/kernel"}})
        NotebookClient(
            notebook, kernel_name="python3", timeout=TIMEOUT, extra_arguments=[FIGURES], config=sockets
        ).execute()
    return notebook


def as_file(text: str) -> str:
    """The content of the .ipynb file."""
    content: str = nbformat.writes(executed(text))
    return content


def as_page(text: str, name: str) -> str:
    """The page: prose, cells and outputs, with a link to the notebook after the title."""
    cells = [_cell(cell) for cell in executed(text).cells]
    title, _, rest = "\n\n".join(cells).partition("\n")
    link = f"[Download this page as a Jupyter notebook]({name}.ipynb){{ .notebook-link download }}"
    return f"{title}\n\n{link}\n{rest}\n"


def _cell(cell: Any) -> str:
    if cell.cell_type == "markdown":
        return str(cell.source)
    alt = cell.metadata.get("alt", "Output of the cell above")
    outputs = [_output(output, alt) for output in cell.outputs]
    return "\n\n".join([f"```python\n{cell.source}\n```", *outputs])


def _output(output: Any, alt: str) -> str:
    if output.output_type == "stream":
        return _framed(_verbatim(output.text))
    data = output.data
    if "image/svg+xml" in data:
        encoded = base64.b64encode(data["image/svg+xml"].encode()).decode()
        return _framed(f'<img alt="{escape(alt)}" src="data:image/svg+xml;base64,{encoded}">')
    if "text/html" in data:
        return _framed(data["text/html"])
    return _framed(_verbatim(data["text/plain"]))


def _verbatim(text: str) -> str:
    return f"```text\n{text.rstrip()}\n```"


def _framed(content: str) -> str:
    return f'<div class="cell-output" markdown>\n\n{content}\n\n</div>'
