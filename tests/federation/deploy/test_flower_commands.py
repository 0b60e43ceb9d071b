"""What is reported when one of Flower's commands fails."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from fedwalk.federation.deploy.flower_commands import FlowerError, flwr
from fedwalk.federation.membership.folders import FederationFolder


@pytest.mark.parametrize(
    ("out", "err", "reason"),
    [
        ('{"success": false, "error-message": "no such run"}', "", "no such run"),
        ("a warning\n", "Traceback\nOSError: full\n", "OSError: full"), ("", "", "ended with code 3"),
    ],
)  # fmt: skip
def test_a_failed_command_is_explained_in_one_line(
    out: str, err: str, reason: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 3, out, err)

    monkeypatch.setattr(subprocess, "run", fail)
    with pytest.raises(FlowerError) as failed:
        flwr(FederationFolder(tmp_path), "stop", "17")
    assert str(failed.value) == f"flwr stop 17: {reason}"
