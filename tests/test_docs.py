"""What the documents say runs: their Python runs, their links lead somewhere."""

import re
from pathlib import Path

import pytest

from fedwalk.graph.formats.recognise import SUFFIXES

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").glob("*.md"))]


def python_blocks(document: Path) -> str:
    return "\n".join(re.findall(r"^```python\n(.*?)^```$", document.read_text(encoding="utf-8"), re.M | re.S))


def test_the_readmes_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("graph.edges").write_text("alice bob\nbob carol\ncarol alice\ncarol dave\n", encoding="utf-8")
    exec(python_blocks(ROOT / "README.md"), {"__name__": "readme"})
    assert Path("vectors.txt").read_text(encoding="utf-8").startswith("4 128\n")


def test_the_python_about_data_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEDWALK_DATA", str(tmp_path))
    exec(python_blocks(ROOT / "docs" / "data.md"), {"__name__": "data"})


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
