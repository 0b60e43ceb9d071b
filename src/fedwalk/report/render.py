"""Render the page: one template, one style sheet and the scripts, combined into a single file that loads nothing.

Jinja escapes all text. The data of the map is JSON in a data block, in which `<` can't occur. A content security policy
allows the page's own style and script, identified by their hashes, and nothing else.
"""

import base64
import hashlib
import json
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

SCRIPTS = ("data.js", "map.js", "panel.js", "controls.js", "save.js", "start.js")


def render(**content: Any) -> str:
    """The page with this content, as HTML."""
    style, script = _read("report.css"), "\n".join(_read(name) for name in SCRIPTS)
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(_read("report.html"))
    page = template.render(style=Markup(style), script=Markup(script), policy=policy(style, script), **content)
    # A name may contain half of a surrogate pair, which can't be written as UTF-8.
    return page.encode("utf-8", "replace").decode("utf-8")


def policy(style: str, script: str) -> str:
    """A content security policy that prevents the page from loading or sending anything."""
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def data_block(content: object) -> Markup:
    """JSON that is safe inside a script element, whatever text it contains.

    >>> data_block(["</script>"])
    Markup('["\\\\u003c/script>"]')
    """
    return Markup(json.dumps(content, separators=(",", ":")).replace("<", "\\u003c"))


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _read(name: str) -> str:
    return (files("fedwalk.report") / "page" / name).read_text(encoding="utf-8")
