"""How to install an extra of fedwalk, with a command that works where this copy of fedwalk came from.

`pip install 'fedwalk[flower]'` asks a package index. A copy that was installed from a checkout, an archive or a
repository isn't necessarily on one, so the command names that source instead.
"""

import json
import tomllib
from pathlib import Path
from urllib.parse import unquote

PACKAGE = Path(__file__).parents[1]


def install_hint(extra: str) -> str:
    """The command that installs an extra, for the end of an error message.

    For a checkout it names the folder in which to run the command.
    """
    if (checkout := checkout_of(PACKAGE)) is not None:
        return f"pip install -e '.[{extra}]', in the folder {checkout}"
    return install_command(extra, _installed_from())


def checkout_of(package: Path) -> Path | None:
    """The checkout from which the package is imported; None if it is installed elsewhere."""
    folder = package.parents[1]
    try:
        project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    # fedwalk may lie in a folder of another project, which has a pyproject.toml of its own.
    return folder if project.get("project", {}).get("name") == "fedwalk" else None


def install_command(extra: str, direct_url: str | None) -> str:
    """The command for a package that pip installed, given its direct_url.json (PEP 610), if it has one.

    >>> install_command("flower", None)
    "pip install 'fedwalk[flower]'"
    >>> install_command("flower", '{"url": "file:///home/ann/fedwalk", "dir_info": {}}')
    "pip install '/home/ann/fedwalk[flower]'"
    """
    try:
        origin = json.loads(direct_url) if direct_url else {}
        url = str(origin["url"])
        if "vcs_info" in origin:
            url = f"{origin['vcs_info']['vcs']}+{url}"
    except (ValueError, LookupError, TypeError):
        return f"pip install 'fedwalk[{extra}]'"
    if "dir_info" in origin and url.startswith("file://"):
        return f"pip install '{unquote(url.removeprefix('file://'))}[{extra}]'"
    return f"pip install 'fedwalk[{extra}] @ {url}'"


def _installed_from() -> str | None:
    """The content of direct_url.json, which pip writes for whatever it didn't get from an index."""
    # Not at the top: it is slow to import, and only error messages need it.
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        return distribution("fedwalk").read_text("direct_url.json")
    except PackageNotFoundError:
        return None
