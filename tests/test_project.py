"""The files around the code: workflows, hooks and templates are valid, and agree with pyproject.toml."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
WORKFLOWS = ROOT / ".github" / "workflows"
YAML_FILES = sorted([*ROOT.glob(".github/**/*.yml"), *ROOT.glob(".pre-commit-config.yaml"), *ROOT.glob("*.cff")])
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

pytestmark = pytest.mark.skipif(not WORKFLOWS.exists(), reason="a source distribution has no workflows")


def read_yaml(path: Path) -> dict[Any, Any]:
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert isinstance(content, dict)
    return content


def supported_pythons() -> list[str]:
    """The Python versions that the classifiers name."""
    found = [re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", line) for line in PROJECT["classifiers"]]
    return [match[1] for match in found if match]


@pytest.mark.parametrize("path", YAML_FILES, ids=lambda path: path.name)
def test_yaml_files_can_be_read(path: Path) -> None:
    assert read_yaml(path)


def test_the_workflow_tests_every_supported_python_and_no_other() -> None:
    tested = read_yaml(WORKFLOWS / "ci.yml")["jobs"]["test"]["strategy"]["matrix"]["python-version"]
    assert tested == supported_pythons()
    assert PROJECT["requires-python"] == f">={tested[0]}"


@pytest.mark.parametrize("path", sorted(WORKFLOWS.glob("*.yml")), ids=lambda path: path.name)
def test_no_job_can_run_for_hours_or_write_to_the_repository(path: Path) -> None:
    workflow = read_yaml(path)
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        assert job["timeout-minutes"] <= 60, name
        assert set(job.get("permissions", {})) <= {"id-token"}, name


def test_coverage_is_printed_by_one_job_of_the_matrix() -> None:
    (step,) = [step for step in read_yaml(WORKFLOWS / "ci.yml")["jobs"]["test"]["steps"] if "env" in step]
    condition = step["env"]["PYTEST_ADDOPTS"]
    assert "--cov" in condition
    assert [version for version in supported_pythons() if f"'{version}'" in condition] == [supported_pythons()[-1]]


def test_a_release_is_made_from_tested_code() -> None:
    jobs = read_yaml(WORKFLOWS / "release.yml")["jobs"]
    assert jobs["publish"]["needs"] == "build"
    assert jobs["build"]["needs"] == "test"
    assert jobs["test"]["steps"][-1]["run"].startswith("python -m pytest")


def test_a_release_is_made_from_a_tag_alone() -> None:
    # YAML 1.1, which this parser reads, takes the word `on` for true.
    assert read_yaml(WORKFLOWS / "release.yml")[True] == {"push": {"tags": ["v*"]}}


def test_the_hooks_check_what_the_lint_job_checks() -> None:
    (repository,) = read_yaml(ROOT / ".pre-commit-config.yaml")["repos"]
    steps = read_yaml(WORKFLOWS / "ci.yml")["jobs"]["lint"]["steps"]
    checks = {step["run"].split()[0] for step in steps if "run" in step} - {"pip"}
    assert repository["repo"] == "local"
    assert {hook["entry"].split()[0] for hook in repository["hooks"]} == checks == {"ruff", "mypy"}


@pytest.mark.parametrize("name", ["bug", "feature"])
def test_issue_forms_have_what_github_asks_for(name: str) -> None:
    form = read_yaml(ROOT / ".github" / "ISSUE_TEMPLATE" / f"{name}.yml")
    assert form["name"]
    assert form["description"]
    ids = [field["id"] for field in form["body"] if field["type"] != "markdown"]
    assert len(set(ids)) == len(ids) > 0
    assert all("label" in field["attributes"] for field in form["body"] if field["type"] != "markdown")


def test_the_readmes_test_command_is_that_of_the_workflow() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"<!-- test command -->\n```sh\n(.*?)\n```", readme, re.S)
    assert 'pip install -e ".[test]"' in command
    steps = read_yaml(WORKFLOWS / "ci.yml")["jobs"]["test"]["steps"]
    assert command.split(" && ")[-1] == steps[-1]["run"]


def test_the_workflow_builds_the_documentation_as_the_local_check_does() -> None:
    steps = read_yaml(WORKFLOWS / "ci.yml")["jobs"]["docs"]["steps"]
    run = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for command in ('pip install -e ".[docs]"', "mkdocs build --strict"):
        assert command in [step.get("run") for step in steps]
        assert command.replace("pip install", "pip install --quiet") in run
