"""The programs in examples/ run as they stand, and the guide shows the code that runs."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = ["python_api.py", "predictor.py", "sampled_protocol/fedwalk_sampled.py"]
GUIDE = ROOT / "docs" / "extending.md"


@pytest.mark.parametrize("program", PROGRAMS)
def test_an_example_runs_as_it_stands(program: str, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", str(ROOT / "examples" / program)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=200, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout
    assert list(tmp_path.iterdir()) == []


def test_every_example_is_run() -> None:
    programs = [path for path in (ROOT / "examples").rglob("*.py") if "__pycache__" not in path.parts]
    assert sorted(str(path.relative_to(ROOT / "examples")) for path in programs) == sorted(PROGRAMS)


@pytest.mark.parametrize("block", re.findall(r"^```python\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), re.M | re.S))
def test_the_guide_shows_what_the_examples_run(block: str) -> None:
    sources = [(ROOT / "examples" / program).read_text(encoding="utf-8") for program in PROGRAMS]
    assert any(block in source for source in sources), block
