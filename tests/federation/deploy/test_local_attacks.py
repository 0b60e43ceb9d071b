"""Another user of the machine, a forwarder and the caller's environment can't change a running federation."""

import json
import os
import socket
import sqlite3
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import psutil
import pytest
from flwr.cli.build import build_fab_from_disk
from flwr.proto.control_pb2 import StartRunRequest
from flwr.proto.fab_pb2 import Fab
from flwr.proto.runtime_pb2 import AcquireTaskRequest

from fedwalk import social_network
from fedwalk.federation.app_folder import write_app
from fedwalk.federation.deploy.flower_commands import flwr
from fedwalk.federation.deploy.local_federation import make_federation
from fedwalk.federation.deploy.ports import is_free
from fedwalk.federation.deploy.processes import tagged
from fedwalk.federation.flower_guards.local_secret import secret_file
from fedwalk.settings import Settings
from helpers.flower_federation import UNHURRIED, Running
from helpers.forwarder import Forwarder
from helpers.other_user import can_read, needs_another_user, post

pytestmark = pytest.mark.slow
START, ACQUIRE = "/v1/control/start-run", "/v1/runtime/acquire-task"
CALLER = {
    "FORWARDED_ALLOW_IPS": "*", "UVICORN_HOST": "0.0.0.0", "FLWR_LOG_LEVEL": "DEBUG", "HTTPS_PROXY": "http://127.0.0.1:9",
    "SSLKEYLOGFILE": "keys.log",
}  # fmt: skip
"""Variables of the caller's environment that Flower's processes must not get."""


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server and two holders, started from an environment that would weaken them."""
    graph = social_network(vertices=40, mean_degree=6, communities=2, seed=1)
    running = Running(make_federation(tmp_path_factory.mktemp("attacked") / "federation", graph, 2))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in CALLER.items():
            patch.setenv(name, value)
        try:
            running.start_all()
            yield running
        finally:
            running.stop()
    assert not [process for started in running.started.values() for process in tagged(started.tag)]


def local_port(up: Running, name: str) -> int:
    """The port of a process's own APIs, once it listens there."""
    commands = [process.cmdline() for process in tagged(up.started[name].tag)]
    port = next(int(command[command.index("--port") + 1]) for command in commands if "--port" in command)
    while is_free(f"127.0.0.1:{port}"):
        assert up.started[name].running
        time.sleep(0.1)
    return port


def public_port(up: Running) -> int:
    return int(up.federation.server.settings().listen.rpartition(":")[2])


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A request to start another app."""
    path = tmp_path_factory.mktemp("foreign")
    app = write_app(path / "app")
    server = app / "fedwalk_app" / "server.py"
    server.write_text(server.read_text() + f"\nopen({str(path / 'stolen')!r}, 'w').write('authority.key')\n")
    content = build_fab_from_disk(app)
    request = path / "request"
    request.write_bytes(StartRunRequest(fab=Fab(content=content), federation="@none/default").SerializeToString())
    return request


def runs(up: Running) -> int:
    with closing(sqlite3.connect(f"{up.federation.server.database.as_uri()}?mode=ro", uri=True)) as database:
        return int(database.execute("SELECT count(*) FROM run").fetchone()[0])


@needs_another_user
@pytest.mark.parametrize("header", ["accept: */*", "x-forwarded-for: 127.0.0.1", "fedwalk-secret: guess"])
def test_another_user_can_not_start_an_app_at_the_server(up: Running, foreign: Path, header: str) -> None:
    status, text = post(f"https://127.0.0.1:{local_port(up, 'server')}{START}", foreign.read_bytes(), header)
    assert (status, text) == (403, "fedwalk: refused: this API is for its owner's own processes\n")
    assert post(f"https://127.0.0.1:{public_port(up)}{START}", foreign.read_bytes(), header)[0] == 0
    assert runs(up) == 0
    assert not foreign.with_name("stolen").exists()


@needs_another_user
def test_a_forwarder_on_the_host_opens_nothing(up: Running, foreign: Path) -> None:
    for port, expected in ((local_port(up, "server"), 403), (public_port(up), 0)):
        with Forwarder(f"127.0.0.1:{port}") as forwarder:
            assert post(f"https://{forwarder.address}{START}", foreign.read_bytes())[0] == expected
    assert runs(up) == 0


@needs_another_user
def test_another_user_gets_no_task_at_a_holder(up: Running) -> None:
    url = f"https://127.0.0.1:{local_port(up, 'holder-0')}{ACQUIRE}"
    assert post(url)[0] == 403
    assert post(url.replace("https", "http"))[0] == 0
    secret = secret_file(up.folder("holder-0").flower)
    body = AcquireTaskRequest().SerializeToString()
    assert post(url, body, f"fedwalk-secret: {secret.read_text()}", other=False)[0] == 200
    servers = secret_file(up.federation.server.flower)
    assert post(url, body, f"fedwalk-secret: {servers.read_text()}", other=False)[0] == 403


@needs_another_user
def test_another_user_can_read_no_secret_no_log_and_no_database(up: Running) -> None:
    server, holder = up.federation.server, up.folder("holder-0")
    for path in (server.path, holder.path):
        path.chmod(0o755)
    try:
        private = [
            secret_file(server.flower), server.log, server.database, server.path / "authority.key", server.members,
            secret_file(holder.flower), holder.log, holder.path / "node.key", holder.flower / "local" / "server.key",
        ]  # fmt: skip
        for path in private:
            assert path.exists(), path
            assert not can_read(path), path
    finally:
        for path in (server.path, holder.path):
            path.chmod(0o700)


def test_the_owner_can_not_start_another_app_either(up: Running, foreign: Path) -> None:
    if not needs_another_user.args[0]:
        secret = secret_file(up.federation.server.flower).read_text()
        url = f"https://127.0.0.1:{local_port(up, 'server')}{START}"
        status, text = post(url, foreign.read_bytes(), f"fedwalk-secret: {secret}", other=False)
        assert status == 403
        assert "isn't this fedwalk's own" in text
    assert runs(up) == 0
    assert not foreign.with_name("stolen").exists()
    assert flwr(up.federation.server, "list")["success"]


def test_processes_get_our_environment_and_no_secret_in_their_arguments(up: Running, tmp_path: Path) -> None:
    """Checked during a whole run, while unknown clients occupy the public port."""
    secrets = [secret_file(up.federation.server.flower), *(secret_file(h.flower) for h in up.federation.holders)]
    texts = [path.read_text() for path in secrets]
    seen: dict[tuple[str, ...], dict[str, str]] = {}
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(0.05):
            for started in up.started.values():
                for process in tagged(started.tag):
                    try:
                        seen[tuple(process.cmdline())] = process.environ()
                    except psutil.Error:
                        continue

    looking = threading.Thread(target=look)
    looking.start()
    try:
        with UnknownClients(public_port(up)):
            wait_until(lambda: dropped(up) > 1000)
            record = up.run(Settings(protocol="ldp", epsilon=5.0, dim=8), tmp_path / "run", patience=UNHURRIED)
    finally:
        ended.set()
        looking.join()
    assert record["federation"]["lost"] == {}
    named = {word for command in seen for word in command if word.startswith("fl")}
    assert {"flower-superexec", "flwr-serverapp", "flwr-clientapp"} <= named
    for command, environment in seen.items():
        assert "--token" not in command
        assert not any(text in " ".join(command) or text in " ".join(environment.values()) for text in texts)
        assert CALLER.keys().isdisjoint(environment)
    for log in (up.federation.server.log, *(holder.log for holder in up.federation.holders)):
        assert not any(text in log.read_text() for text in texts)


def dropped(up: Running) -> int:
    """How many connections without a certificate the server has dropped, by its own count."""
    counts = json.loads(up.federation.server.refusals.read_text()) if up.federation.server.refusals.exists() else {}
    return int(counts.get("too many connections before authentication", 0))


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


class UnknownClients(ExitStack):
    """1,300 idle connections, and sixteen that announce 16 MiB and send a byte; none has a certificate."""

    def __init__(self, port: int) -> None:
        super().__init__()
        for _ in range(1300):
            self.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        for _ in range(16):
            slow = self.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))
            try:
                secured = self.enter_context(context.wrap_socket(slow))
                secured.sendall(b"POST /v1/fleet/pull-messages HTTP/1.1\r\nContent-Length: 16777216\r\n\r\nx")
            except OSError:
                continue


def test_the_suite_runs_as_root_where_it_is_checked() -> None:
    if "CI" in os.environ:
        assert not needs_another_user.args[0], needs_another_user.kwargs["reason"]
