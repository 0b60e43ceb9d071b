"""The limit on descriptors: raised as far as it goes, in a process of its own; said to be too low where it is."""

import subprocess
import sys

import pytest

from fedwalk.federation import descriptors
from fedwalk.federation.connection_limits import MAX_PER_PARTY, MAX_UNKNOWN
from fedwalk.federation.descriptors import server_descriptors, shortage
from fedwalk.federation.holder_port import MAX_UNKNOWN as MAX_STRANGERS
from fedwalk.federation.holder_port import holder_descriptors

RAISE = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 200))
from fedwalk.federation.descriptors import raise_descriptor_limit, shortage
print(raise_descriptor_limit(), *resource.getrlimit(resource.RLIMIT_NOFILE))
print(shortage(200), shortage(201))
"""


def test_the_soft_limit_becomes_the_hard_one() -> None:
    done = subprocess.run([sys.executable, "-c", RAISE], capture_output=True, text=True, check=True, timeout=60)
    raised, said = done.stdout.splitlines()
    assert raised == "200 200 200"
    assert said.startswith("None the system allows a process 200 open files, and 201 may be needed")


def test_the_need_covers_every_connection_that_the_limits_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    assert server_descriptors(100) > MAX_UNKNOWN + 100 * MAX_PER_PARTY
    assert holder_descriptors(0) > 3 * MAX_STRANGERS
    assert holder_descriptors(3) < 1024, "a common soft limit is enough for a small federation"
    monkeypatch.setattr(descriptors, "max_descriptors", lambda: 1024)
    assert "LimitNOFILE" in (shortage(server_descriptors(100)) or "")
    assert shortage(server_descriptors(4)) is None
