"""The limit on descriptors is raised in a process of its own, and a limit that is too low gives a warning."""

import subprocess
import sys

import pytest

from fedwalk.federation.walking.peer_port import MAX_UNKNOWN as MAX_UNKNOWN_PER_HOLDER
from fedwalk.federation.walking.peer_port import holder_descriptors
from fedwalk.federation.wire import descriptors
from fedwalk.federation.wire.connection_limits import MAX_PER_PARTY, MAX_UNKNOWN
from fedwalk.federation.wire.descriptors import server_descriptors, shortage

RAISE = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 200))
from fedwalk.federation.wire.descriptors import raise_descriptor_limit, shortage
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
    assert holder_descriptors(0) > 3 * MAX_UNKNOWN_PER_HOLDER
    assert holder_descriptors(3) < 1024, "a common soft limit is enough for a small federation"
    monkeypatch.setattr(descriptors, "max_descriptors", lambda: 1024)
    assert "LimitNOFILE" in (shortage(server_descriptors(100)) or "")
    assert shortage(server_descriptors(4)) is None
