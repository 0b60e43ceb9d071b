"""Requests and file accesses as another user of the same machine."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

CURL = shutil.which("curl", path="/usr/bin:/bin:/usr/local/bin")
needs_another_user = pytest.mark.skipif(
    os.getuid() != 0 or CURL is None, reason="needs root, to become another user, and curl"
)
OTHER = 65534


def post(url: str, body: bytes = b"", *headers: str, other: bool = True) -> tuple[int, str]:
    """Send a request with curl as another user; returns the HTTP status (0 without an answer) and the text."""
    command = [str(CURL), "-sk", "-m", "8", "-w", "\n%{http_code}", "-X", "POST", url, "--data-binary", "@-"]
    command += ["-H", "content-type: application/protobuf", "-H", "accept: application/protobuf"]
    command += [part for header in headers for part in ("-H", header)]
    text, _, status = _run(command, body, other=other).stdout.decode(errors="replace").rpartition("\n")
    return int(status or 0), text


def can_read(path: Path) -> bool:
    """Whether another user can read this file."""
    return _run(["/bin/cat", str(path)]).returncode == 0


def _run(command: list[str], given: bytes = b"", *, other: bool = True) -> "subprocess.CompletedProcess[bytes]":
    who = OTHER if other else None
    return subprocess.run(
        command, input=given, capture_output=True, cwd="/", env={}, timeout=60, check=False, user=who, group=who,
        extra_groups=[] if other else None,
    )  # fmt: skip
