"""A run that is interrupted or killed resumes: the real command in a process of its own, then --resume."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from conftest import Command
from fedwalk.embedding import Embedding
from fedwalk.util.text import listed
from helpers.commands import SOON, start_command, wait_until

SLOW_WALKS = ("--num-walks", "60", "--walk-length", "40", "--dim", "8", "--runtime", "stepwise")
SLOW_TRAINING = ("--num-walks", "60", "--walk-length", "40", "--dim", "256", "--window", "20", "--negative", "20")
"""Settings that make the stage after the awaited one last for seconds, so that the signal comes during that stage."""


def kept_stages(run: Path) -> list[str]:
    """The finished stages that the run's manifest lists; none before there is a manifest."""
    manifest = run / "stages" / "manifest.json"
    return list(json.loads(manifest.read_text())["stages"]) if manifest.exists() else []


@contextmanager
def started(*arguments: str) -> Iterator["subprocess.Popen[str]"]:
    process = start_command(*arguments, stderr=subprocess.PIPE)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def signal_after(process: "subprocess.Popen[str]", run: Path, stage: str, number: signal.Signals) -> tuple[str, str]:
    """Send the signal when the stage is finished; returns what the command printed."""
    wait_until(lambda: stage in kept_stages(run), process)
    process.send_signal(number)
    return process.communicate(timeout=SOON)


def result(run: Path) -> tuple[bytes, dict[str, Any], dict[str, Any]]:
    record = json.loads((run / "run.json").read_text(encoding="utf-8"))
    return Embedding.load(run / "embedding.npz").vectors.tobytes(), record["messages"], record["walks"]


INTERRUPTED, KILLED = signal.SIGINT, signal.SIGKILL
CASES = [
    pytest.param(INTERRUPTED, "encoder", SLOW_WALKS, id="interrupted-walking"),
    pytest.param(KILLED, "walks", SLOW_TRAINING, id="killed-training", marks=pytest.mark.slow),
    pytest.param(KILLED, "encoder", SLOW_WALKS, id="killed-walking", marks=pytest.mark.slow),
    pytest.param(INTERRUPTED, "walks", SLOW_TRAINING, id="interrupted-training", marks=pytest.mark.slow),
]


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
@pytest.mark.parametrize(("number", "stage", "flags"), CASES)
def test_a_run_that_was_stopped_resumes_to_the_same_bytes(
    number: signal.Signals, stage: str, flags: tuple[str, ...], fedwalk: Command, network_file: Path, tmp_path: Path
) -> None:
    run, whole = tmp_path / "run", tmp_path / "whole"
    arguments = ("embed", str(network_file), "-o", str(run), "--threads", "1", "--seed", "5", *flags)
    with started(*arguments) as process:
        out, err = signal_after(process, run, stage, number)
        code = process.returncode
    assert out == ""
    assert "Traceback" not in err
    assert code == (130 if number == signal.SIGINT else -signal.SIGKILL)
    if number == signal.SIGINT:
        assert err.splitlines()[-1].startswith("fedwalk: interrupted. Finished stages are kept")
    assert stage in kept_stages(run)
    assert not (run / "run.json").exists()

    refused = fedwalk(*arguments)
    assert refused.code == 2
    assert "already holds a run (settings.toml, stages)" in refused.err
    kept = kept_stages(run)
    resumed = fedwalk(*arguments, "--resume")
    assert resumed.code == 0
    before, now = resumed.out.splitlines()[0].removeprefix("Resumed: ").split(" finished before; ")
    assert before == f"{listed(kept)} were"
    assert now.endswith("computed now.")
    assert "skipgram" in now
    assert not (run / "stages").exists()
    local = tuple("local" if flag == "stepwise" else flag for flag in flags)
    assert fedwalk("embed", network_file, "-o", whole, "--threads", 1, "--seed", 5, *local).code == 0
    assert result(run) == result(whole)


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_an_interrupted_forced_run_is_told_to_resume_without_force(network_file: Path, tmp_path: Path) -> None:
    arguments = ("embed", str(network_file), "-o", str(tmp_path), "--threads", "2", "--force", *SLOW_WALKS)
    with started(*arguments) as process:
        _, err = signal_after(process, tmp_path, "vectors", signal.SIGINT)
        assert process.returncode == 130
    assert "with --resume in place of --force" in err.splitlines()[-1]


def test_an_interrupt_inside_generated_code_has_the_same_exit_code(tmp_path: Path) -> None:
    interrupt = "cli._call = lambda options: exec('raise KeyboardInterrupt')"
    program = f"import sys; from fedwalk import cli; {interrupt}; sys.exit(cli.main(['data', 'list']))"
    (tmp_path / "interrupted.py").write_text(program)
    command = [sys.executable, "-m", "interrupted"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=SOON, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "fedwalk: interrupted.\n")
