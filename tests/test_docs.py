"""What the documents say runs: their Python and their commands run, their links lead somewhere.

The site itself is built by `mkdocs build --strict`, which needs the extra `docs` and also runs the notebooks.
"""

import argparse
import importlib
import re
import shlex
from dataclasses import fields
from pathlib import Path

import pytest
import yaml

import fedwalk as package
from command_reference import all_parsers, command_reference, escape
from conftest import Command
from fedwalk.cli import build_parser
from fedwalk.graph.formats.recognise import SUFFIXES
from fedwalk.settings import Settings
from loaded_files import check_site
from outside import PAGES, outside_pages, rewrite_links
from settings_reference import settings_reference

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PARTS = [path for folder in (".", "notebooks", "reference") for path in sorted((DOCS / folder).glob("*.md"))]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *PARTS]


def blocks(document: Path, language: str) -> str:
    """The code blocks of a document in one language, together."""
    return "\n".join(re.findall(rf"^```{language}\b.*?\n(.*?)^```$", document.read_text(encoding="utf-8"), re.M | re.S))


@pytest.mark.parametrize("document", [ROOT / "README.md", DOCS / "index.md"], ids=lambda path: path.name)
def test_the_python_of_the_front_pages_runs(document: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = blocks(document, "python")
    exec(code, {"__name__": "readme"})
    similar, score = capsys.readouterr().out.splitlines()
    assert similar.startswith("[(")
    promised = re.findall(r"# (0\.\d+): nine of ten", code)
    # One of the 34 people more or less, because rounding differs between processors.
    assert [float(score)] == pytest.approx(list(map(float, promised)), abs=0.04)


def test_the_readme_and_the_privacy_page_have_the_same_numbers() -> None:
    readme, page = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/privacy.md"))
    rows = re.findall(r"^\| `ldp` \| (\d), proved \| ([\d.]+) % \| \*\*([\d.]+) %\*\* \| ([\d.]+) % \|$", readme, re.M)
    assert [row[0] for row in rows] == list("865432")
    for epsilon, quality, found, right in rows:
        assert f"| {epsilon} | {found} % | {right} % |" in page
        (measured,) = re.findall(rf"^\| {epsilon} \| \d+ % \| ([\d.]+) ±", page, re.M)
        assert float(quality) == pytest.approx(float(measured), abs=0.051)


def test_the_readmes_sample_output_is_that_of_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fedwalk: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    fedwalk("demo", "--vertices", "100", "--num-walks", "2")
    fedwalk("embed", "fedwalk-demo/graph.edges", "-o", "private", "--protocol", "ldp", "--epsilon", "4")
    printed = fedwalk("audit", "private", "--canaries", "100", "--repeats", "10").out
    for row in blocks(ROOT / "README.md", "text").splitlines():
        assert re.split(r"\s{2,}", row)[0] in printed, row


def test_the_python_about_data_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEDWALK_DATA", str(tmp_path))
    exec(blocks(ROOT / "docs" / "data.md", "python"), {"__name__": "data"})


def test_the_table_of_formats_is_that_of_the_readers() -> None:
    text = (ROOT / "docs" / "data.md").read_text(encoding="utf-8").partition("## Python objects")[0]
    rows = [line.split("|")[2:4] for line in text.splitlines() if line.startswith("| ")][2:]
    listed = {suffix: name.strip(" `") for suffixes, name in rows for suffix in re.findall(r"`(\.\w+)`", suffixes)}
    assert listed == SUFFIXES


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_to_files(document: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", document.read_text(encoding="utf-8")):
        assert target.startswith("http") or (document.parent / target).exists(), target


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_modules_named_in_the_documents_exist(document: Path) -> None:
    package = ROOT / "src" / "fedwalk"
    text = document.read_text(encoding="utf-8")
    for path in re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.py)`", text):
        assert (package / path).exists() or (ROOT / path).exists(), path


def test_the_commands_of_the_tutorial_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fedwalk: Command) -> None:
    monkeypatch.chdir(tmp_path)
    printed = []
    for line in filter(None, blocks(DOCS / "tutorial.md", "sh").splitlines()):
        command, *arguments = shlex.split(line, comments=True)
        outcome = fedwalk(*arguments)
        assert (command, outcome.code) == ("fedwalk", 0), outcome.err
        printed.append(outcome.out)
    assert len(printed) == 8
    assert Path("private/report.html").exists()
    # The numbers may differ on another processor; what each row is about may not.
    for row in blocks(DOCS / "tutorial.md", "text").splitlines():
        assert re.split(r"\s{2,}", row)[0] in "".join(printed), row


def navigation(entries: list[object]) -> list[str]:
    """Every page that the site's navigation names."""
    pages: list[str] = []
    for entry in entries:
        assert isinstance(entry, dict)
        for target in entry.values():
            pages += navigation(target) if isinstance(target, list) else [target]
    return pages


def test_the_navigation_names_every_page_once() -> None:
    # mkdocs.yml names a Python object, the function that makes anchors, which a safe loader refuses.
    text = re.sub(r"!!python/\S+", "", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    pages = navigation(yaml.safe_load(text)["nav"])
    written = [path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")]
    assert sorted(pages) == sorted([*written, *outside_pages()])


@pytest.mark.parametrize("page", outside_pages())
def test_links_of_pages_from_outside_lead_to_pages(page: str) -> None:
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")} | set(outside_pages())
    for target in re.findall(r"\]\(([^)#]+)", rewrite_links(outside_pages()[page], page)):
        assert target.startswith("http") or target in pages, target


@pytest.mark.parametrize(
    ("page", "link", "rewritten"),
    [
        ("privacy.md", "../src/fedwalk/protocols/ldp/PROOFS.md#1-x", "proofs.md#1-x"),
        ("extending.md", "../examples", "examples.md"),
        ("extending.md", "../examples/predictor.py", "examples.md#predictor"),
        ("extending.md", "../examples/sampled_protocol", "examples.md#fedwalk_sampled"),
        ("notebooks/some.md", "../privacy.md", "../privacy.md"),
        ("reference/api.md", "../../CHANGELOG.md", "../changelog.md"),
        ("contributing.md", "docs/extending.md", "extending.md"),
        ("proofs.md", "../../../../docs/privacy.md", "privacy.md"),
        ("index.md", "https://flower.ai/x", "https://flower.ai/x"),
        ("index.md", "../no/such/file", "../no/such/file"),
    ],
)
def test_a_link_leads_to_the_page_that_shows_its_file(page: str, link: str, rewritten: str) -> None:
    assert rewrite_links(f"see [it]({link}).", page) == f"see [it]({rewritten})."


def test_pages_from_outside_are_files_of_the_repository() -> None:
    assert all((ROOT / source).exists() for source in PAGES)


def test_the_command_reference_has_every_command_and_option() -> None:
    reference = command_reference()
    for section, parser in zip(reference.split("\n## "), all_parsers(build_parser()), strict=True):
        assert section.removeprefix("## ").startswith(f"{parser.prog}\n")
        options = {option for action in parser._actions for option in action.option_strings} - {"-h", "--help"}
        named = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", " ".join(re.findall("^`(.*)`$", section, re.M))))
        assert options == named, parser.prog


def test_the_command_reference_has_every_help_text() -> None:
    reference = command_reference()
    for parser in all_parsers(build_parser()):
        for action in parser._actions:
            if (
                action.help is not argparse.SUPPRESS
                and action.help
                and "%" not in action.help
                and action.dest != "help"
            ):
                assert escape(action.help) in reference, action.dest


def test_the_settings_reference_has_every_setting_with_its_default() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", settings_reference(), re.M))
    for field in fields(Settings):
        if field.name != "own":  # holds the settings of other packages' protocols
            assert rows[field.name] == f"`{field.default}`" or field.default is None


def test_markdown_is_escaped_outside_of_code() -> None:
    assert escape("a_b [c] `d_e|f` <g>") == r"a\_b \[c\] `d_e|f` \<g\>"


def test_the_python_reference_has_every_public_name() -> None:
    text = (DOCS / "reference" / "api.md").read_text(encoding="utf-8")
    documented = re.findall(r"^::: fedwalk\.(\w+)$", text, re.M)
    assert set(documented) | {"__version__"} >= set(package.__all__)
    for path in re.findall(
        r"^::: fedwalk\.([\w.]+)$", text + (DOCS / "reference" / "protocols.md").read_text(encoding="utf-8"), re.M
    ):
        assert resolves(path), path


def resolves(path: str) -> bool:
    """Whether `fedwalk.` with this path is a module or a name of one."""
    owner, _, name = f"fedwalk.{path}".rpartition(".")
    if (ROOT / "src" / f"fedwalk.{path}".replace(".", "/")).with_suffix(".py").exists():
        return True
    return hasattr(importlib.import_module(owner), name)


def test_the_site_may_load_nothing_from_elsewhere(tmp_path: Path) -> None:
    good = '<a href="https://a.org">a</a><link rel="stylesheet" href="x.css"><img src="data:image/svg+xml;base64,x">'
    (tmp_path / "good.html").write_text(good, encoding="utf-8")
    (tmp_path / "x.css").write_text("a { background: url(data:x) }", encoding="utf-8")
    assert check_site(tmp_path) == []
    bad = '<link rel="preconnect" href="https://b.org"><script src="//c.org/x.js"></script><img src="http://d.org/x">'
    (tmp_path / "bad.html").write_text(bad, encoding="utf-8")
    (tmp_path / "y.css").write_text("a { background: url(https://e.org/x) }", encoding="utf-8")
    assert [line.split(": ")[0] for line in check_site(tmp_path)] == ["bad.html"] * 3 + ["y.css"]


def test_notebooks_are_cells_of_valid_python() -> None:
    for notebook in (DOCS / "notebooks").glob("*.md"):
        compile(blocks(notebook, "python"), notebook.name, "exec")
        # Jupytext would make cells of shell blocks, too.
        assert not blocks(notebook, "sh")
