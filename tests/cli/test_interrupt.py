"""A run that is interrupted or killed: the real command in a process of its own, then --resume."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from conftest import Command
from fedwalk.embedding import Embedding

COMMAND = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from fedwalk.cli import main
sys.exit(main(sys.argv[1:]))
"""
"""`fedwalk` as a shell starts it: whoever starts the tests may have told their children to ignore interrupts."""

SLOW_WALKS = ("--walks", "60", "--walk-length", "40", "--dim", "8", "--runtime", "stepwise")
SLOW_TRAINING = ("--walks", "60", "--walk-length", "40", "--dim", "256", "--window", "20", "--negative", "20")
"""Seconds in the stage after the one that is waited for, so that the signal finds the run in it."""


def kept_stages(run: Path) -> list[str]:
    """The stages that the manifest lists; none while there is no manifest."""
    manifest = run / "stages" / "manifest.json"
    return list(json.loads(manifest.read_text())["stages"]) if manifest.exists() else []


@contextmanager
def started(*arguments: str) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def signal_after(process: "subprocess.Popen[str]", run: Path, stage: str, number: signal.Signals) -> tuple[str, str]:
    """Send the signal once the stage is finished; what the command printed."""
    while stage not in kept_stages(run):
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.01)
    process.send_signal(number)
    return process.communicate(timeout=60)


def result(run: Path) -> tuple[bytes, dict[str, Any], dict[str, Any]]:
    record = json.loads((run / "run.json").read_text(encoding="utf-8"))
    return Embedding.load(run / "embedding.npz").vectors.tobytes(), record["messages"], record["walks"]


CASES = [("encoder", SLOW_WALKS), ("walks", SLOW_TRAINING)]


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
@pytest.mark.parametrize(("stage", "flags"), CASES, ids=["walking", "training"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["interrupted", "killed"])
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
    assert fedwalk(*arguments, "--resume").code == 0
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
