"""The folder of the Flower app: two modules that import fedwalk's apps, and the metadata that Flower requires.

The server and the holders each write the folder from their own installation. Flower sends the server's app to all
holders and would run any code in it; a holder runs it only if it equals, byte for byte, the app that it wrote itself.
"""

from pathlib import Path

from fedwalk import __version__
from fedwalk.util.files import make_private_folder, write_private

# Every byte of these files enters the bundle's digest: after a change, older holders refuse a newer server.
# `run_request` must be declared here, because Flower refuses run settings that the app doesn't have.
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
run_request = ""
"""

SERVER, HOLDER = '"""The server\'s part."""', '"""A holder\'s part."""'
# The app contains no logic of its own, so holders run the fedwalk that they have installed, not what the server ships.
FILES = {
    "pyproject.toml": PYPROJECT,
    "fedwalk_app/__init__.py": '"""FedWalk as a Flower app."""\n',
    "fedwalk_app/server.py": f"{SERVER}\n\nfrom fedwalk.federation.apps import server_app\n\napp = server_app.app\n",
    "fedwalk_app/client.py": f"{HOLDER}\n\nfrom fedwalk.federation.apps import client_app\n\napp = client_app.app\n",
}


def write_app(folder: Path) -> Path:
    """Write the app's folder, for `flwr run`."""
    for name, text in FILES.items():
        path = folder / name
        make_private_folder(path.parent)
        write_private(path, text)
    return folder
