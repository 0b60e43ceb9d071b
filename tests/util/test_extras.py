"""The command that an error message gives for installing an extra."""

import json
import re
import shlex
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from fedwalk.cli.federate import need_flower
from fedwalk.errors import SettingsError
from fedwalk.experiments.plots import check_available
from fedwalk.util.extras import PACKAGE, checkout_of, install_command, install_hint

CHECKOUT = Path(__file__).parents[2]


def make_package(folder: Path, pyproject: str | None) -> Path:
    package = folder / "src" / "fedwalk"
    package.mkdir(parents=True)
    if pyproject is not None:
        (folder / "pyproject.toml").write_text(pyproject)
    return package


def test_these_tests_run_from_a_checkout_and_the_hint_names_it() -> None:
    assert checkout_of(PACKAGE) == CHECKOUT
    assert install_hint("flower") == f"pip install -e '.[flower]', in the folder {CHECKOUT}"


@pytest.mark.parametrize("pyproject", [None, '[project]\nname = "another"\n', "[tool.x]\n", "not toml ["])
def test_a_folder_without_fedwalks_own_pyproject_is_no_checkout(tmp_path: Path, pyproject: str | None) -> None:
    assert checkout_of(make_package(tmp_path, pyproject)) is None


def test_a_checkout_is_known_by_its_pyproject(tmp_path: Path) -> None:
    assert checkout_of(make_package(tmp_path, '[project]\nname = "fedwalk"\n')) == tmp_path


@pytest.mark.parametrize("damaged", [None, "", "{", "[]", "{}", '{"url": "https://x", "vcs_info": {}}'])
def test_without_a_known_source_the_index_is_asked(damaged: str | None) -> None:
    assert install_command("figures", damaged) == "pip install 'fedwalk[figures]'"


@pytest.mark.parametrize(
    ("origin", "url"),
    [
        ({"url": "https://example.org/f.git", "vcs_info": {"vcs": "git"}}, "git+https://example.org/f.git"),
        ({"url": "file:///tmp/f-0.1.whl", "archive_info": {}}, "file:///tmp/f-0.1.whl"),
    ],
)
def test_the_command_names_the_source_from_which_pip_installed(origin: dict[str, object], url: str) -> None:
    *command, requirement = shlex.split(install_command("formats", json.dumps(origin)))
    assert command == ["pip", "install"]
    parsed = Requirement(requirement)
    assert (parsed.name, parsed.extras, parsed.url) == ("fedwalk", {"formats"}, url)


def test_a_folder_is_named_as_a_path() -> None:
    origin = json.dumps({"url": "file:///home/ann/my%20graphs", "dir_info": {}})
    assert install_command("flower", origin) == "pip install '/home/ann/my graphs[flower]'"


def test_no_other_module_writes_such_a_command() -> None:
    written = [path.name for path in PACKAGE.rglob("*.py") if "pip install" in path.read_text(encoding="utf-8")]
    assert written == ["extras.py"]


def test_the_commands_that_need_an_extra_give_the_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr("fedwalk.experiments.plots.find_spec", lambda name: None)
    with pytest.raises(SettingsError, match=re.escape(install_hint("flower"))):
        need_flower()
    with pytest.raises(SettingsError, match=re.escape(install_hint("figures"))):
        check_available()
