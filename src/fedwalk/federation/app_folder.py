"""The Flower app: two lines of code that name fedwalk's own, and what Flower wants to know about them.

Server and holders write the same folder from their own installation. Flower ships the server's to every holder and
would run whatever it contains; a holder runs it only if it is, byte for byte, the app that it would write itself.
"""

import hashlib
from pathlib import Path

from fedwalk import __version__
from fedwalk.federation.private_file import make_private_folder, write_text

PYPROJECT = f"""\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "fedwalk-app"
version = "{__version__.split("+")[0]}"
description = "FedWalk over Flower: the server's part and the holders'"
license = "Apache-2.0"
dependencies = []

[tool.hatch.build.targets.wheel]
packages = ["."]

[tool.flwr.app]
publisher = "fedwalk"

[tool.flwr.app.components]
serverapp = "fedwalk_app.server:app"
clientapp = "fedwalk_app.client:app"

[tool.flwr.app.config]
job = ""
"""

SERVER, HOLDER = '"""The server\'s part."""', '"""A holder\'s part."""'
FILES = {
    "pyproject.toml": PYPROJECT,
    "fedwalk_app/__init__.py": '"""FedWalk as a Flower app."""\n',
    "fedwalk_app/server.py": f"{SERVER}\n\nfrom fedwalk.federation import server_app\n\napp = server_app.app\n",
    "fedwalk_app/client.py": f"{HOLDER}\n\nfrom fedwalk.federation import client_app\n\napp = client_app.app\n",
}


def write_app(folder: Path) -> Path:
    """Write the app, ready for `flwr run`."""
    for name, text in FILES.items():
        path = folder / name
        make_private_folder(path.parent)
        write_text(path, text)
    return folder


def app_digest(folder: Path) -> str:
    """SHA-256 of the bundle that Flower would ship of this folder."""
    from flwr.cli.build import build_fab_from_disk

    return hashlib.sha256(build_fab_from_disk(folder)).hexdigest()
