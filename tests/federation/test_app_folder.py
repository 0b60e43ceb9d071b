"""The Flower app: the same bytes wherever and whenever it is written."""

import os
import tomllib
from pathlib import Path

import pytest

from fedwalk.federation.app_folder import FILES, write_app
from fedwalk.federation.flower_guards.app_bundle import app_digest


def test_every_party_writes_the_same_app(tmp_path: Path) -> None:
    first, second = write_app(tmp_path / "first"), write_app(tmp_path / "a" / "second")
    for name in FILES:
        os.utime(second / name, (10**9, 10**9))
        (second / name).chmod(0o600)
    assert app_digest(first) == app_digest(second)


@pytest.mark.parametrize("name", list(FILES))
def test_a_changed_file_is_another_app(name: str, tmp_path: Path) -> None:
    folder = write_app(tmp_path / "app")
    before = app_digest(folder)
    with (folder / name).open("a", encoding="utf-8") as file:
        file.write("more = 1\n")  # Python, and TOML, too
    assert app_digest(folder) != before
    assert app_digest(write_app(folder)) == before


def test_a_further_file_is_another_app(tmp_path: Path) -> None:
    folder = write_app(tmp_path / "app")
    before = app_digest(folder)
    (folder / "fedwalk_app" / "more.py").write_text("import os\n", encoding="utf-8")
    assert app_digest(folder) != before


def test_the_app_has_only_fedwalks_code_and_requires_no_packages(tmp_path: Path) -> None:
    folder = write_app(tmp_path / "app")
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["dependencies"] == []
    code = [(folder / name).read_text(encoding="utf-8") for name in FILES if name.endswith(".py")]
    lines = [line for text in code for line in text.splitlines() if line and not line.startswith('"""')]
    assert sorted(lines) == [
        "app = client_app.app",
        "app = server_app.app",
        "from fedwalk.federation.apps import client_app",
        "from fedwalk.federation.apps import server_app",
    ]
