"""The SuperNode's connection to its server: it shows the certificate and tells the owner about problems."""

import re
import ssl
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from flwr.proto.fleet_pb2 import ActivateNodeRequest, ActivateNodeResponse, PullMessagesRequest
from flwr.proto.heartbeat_pb2 import SendNodeHeartbeatRequest, SendNodeHeartbeatResponse
from flwr.supernode.fleet_http_client import FleetHttpClient

from fedwalk.federation.deploy.ports import free_port
from fedwalk.federation.flower_guards import fleet_client
from fedwalk.federation.flower_guards.fleet_client import clock_warning, explain
from fedwalk.federation.flower_guards.listening import server_context
from fedwalk.federation.membership.folders import HolderFolder
from fedwalk.federation.membership.keys import server_certificate
from fedwalk.federation.owner_log import ChangeLogger
from helpers.walking_holders import authority, credentials


@dataclass
class Link:
    """A SuperLink's address, which answers only between `open` and `close`."""

    port: int
    answers: list[tuple[int, bytes]]
    context: ssl.SSLContext | None = None
    server: HTTPServer | None = None

    def open(self) -> None:
        answers = self.answers

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1" if self.context else "HTTP/1.0"

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                status, body = answers.pop(0)
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Content-Type", "application/protobuf")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", self.port), Handler)
        if self.context:
            self.server.socket = self.context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever).start()

    def close(self) -> None:
        if self.server:
            self.server.shutdown()
            self.server.server_close()
            self.server = None


@pytest.fixture
def link() -> Iterator[Link]:
    link = Link(free_port(), [])
    try:
        yield link
    finally:
        link.close()


def test_a_holder_tries_until_it_is_accepted_and_its_owner_is_told(
    link: Link, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(FleetHttpClient, "ActivateNode", FleetHttpClient.ActivateNode)
    monkeypatch.setattr(fleet_client, "CONNECTION", ChangeLogger())
    monkeypatch.setattr(fleet_client, "RETRY_SECONDS", 0.0)
    fleet_client.retry_activation()
    with FleetHttpClient.from_server_address(f"127.0.0.1:{link.port}", True, None, []) as client:
        with pytest.raises(httpx.ConnectError):
            client.ActivateNode(ActivateNodeRequest())
        known = b'{"code":2004,"detail":"Failed to activate SuperNode."}'
        link.answers += [(409, known), (404, b"unknown"), (200, ActivateNodeResponse().SerializeToString())]
        link.open()
        client.ActivateNode(ActivateNodeRequest())
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("fedwalk: the server can't be reached yet: ")
    assert lines[1].startswith("fedwalk: the server hasn't accepted this holder yet: Failed to activate SuperNode. It ")
    assert lines[2].startswith(
        "fedwalk: the server hasn't accepted this holder yet: unknown. It may not have noticed yet"
    )
    assert lines[3:] == ["fedwalk: connected to the server"]


def test_an_owner_is_told_once_that_the_server_is_silent_that_it_is_back_and_that_it_refuses(
    link: Link, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in fleet_client.LOGGED_CALLS:
        monkeypatch.setattr(FleetHttpClient, name, getattr(FleetHttpClient, name))
    monkeypatch.setattr(fleet_client, "CONNECTION", ChangeLogger())
    fleet_client.log_connection()
    refused = (503, b"fedwalk: refused: this holder isn't a member of the federation\n")
    link.answers += [(200, SendNodeHeartbeatResponse(success=True).SerializeToString())] * 3 + [refused] * 2
    link.open()
    with FleetHttpClient.from_server_address(f"127.0.0.1:{link.port}", True, None, []) as client:
        client.SendNodeHeartbeat(SendNodeHeartbeatRequest())
        link.close()
        for _ in range(2):
            with pytest.raises(httpx.TransportError):
                client.SendNodeHeartbeat(SendNodeHeartbeatRequest())
        link.open()
        for _ in range(2):
            client.SendNodeHeartbeat(SendNodeHeartbeatRequest())
        for _ in range(2):
            with pytest.raises(httpx.HTTPStatusError):
                client.PullMessages(PullMessagesRequest())
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(",")[0] for line in lines[:3]] == [
        "fedwalk: connected to the server", "fedwalk: the server doesn't answer any more",
        "fedwalk: connected to the server",
    ]  # fmt: skip
    why = "fedwalk: refused: this holder isn't a member of the federation"
    assert lines[3:] == [f"fedwalk: the server refuses (HTTP 503): {why}. Trying again; ask its operator why"]


def test_a_clock_that_is_off_is_named_with_the_difference(
    link: Link, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(FleetHttpClient, "_send", FleetHttpClient._send)
    monkeypatch.setattr(fleet_client, "CLOCK", ChangeLogger())
    fleet_client.compare_clocks()
    link.answers += [(200, SendNodeHeartbeatResponse(success=True).SerializeToString())] * 2
    link.open()
    with FleetHttpClient.from_server_address(f"127.0.0.1:{link.port}", True, None, []) as client:
        client.SendNodeHeartbeat(SendNodeHeartbeatRequest())
        assert capsys.readouterr().err == ""
        late = SimpleNamespace(time=lambda: time.time() - 7200)
        monkeypatch.setattr(fleet_client, "time", late)
        client.SendNodeHeartbeat(SendNodeHeartbeatRequest())
    assert re.match(r"fedwalk: this machine's clock is 7,(199|200|201) s behind the server's", capsys.readouterr().err)


@pytest.mark.parametrize("date", ["", "yesterday", "Thu, 99 Jan 1970 00:00:00 GMT", "\0"])
def test_a_malformed_date_gives_no_warning(date: str) -> None:
    assert clock_warning(date, 0.0) is None


def test_clocks_that_nearly_agree_give_no_warning() -> None:
    server = datetime(2026, 1, 1, tzinfo=UTC)
    for seconds, warned in ((59, False), (-59, False), (61, True), (-61, True)):
        here = (server + timedelta(seconds=seconds)).timestamp()
        assert (clock_warning(format_datetime(server), here) is not None) == warned


@pytest.mark.parametrize(("error", "said"), [
    (ssl.SSLError(1, "[SSL: SSLV3_ALERT_CERTIFICATE_EXPIRED] ssl/tls alert certificate expired"), "has expired"),
    (ssl.SSLError(1, "[SSL: TLSV13_ALERT_CERTIFICATE_REQUIRED] tlsv13 alert certificate required"), "holder sent none"),
    (ssl.SSLError(1, "[SSL: TLSV1_ALERT_UNKNOWN_CA] tlsv1 alert unknown ca"), "doesn't know the authority"),
    (ssl.SSLError(1, "certificate verify failed: certificate is not yet valid (_ssl.c:1006)"), "isn't valid yet"),
    (ssl.SSLError(1, "certificate verify failed: self-signed certificate (_ssl.c:1006)"), "isn't one of this"),
])  # fmt: skip
def test_a_certificate_problem_is_explained(error: Exception, said: str) -> None:
    assert said in explain(error)
    assert "clock" in explain(error)


def test_any_other_error_keeps_its_text() -> None:
    assert explain(OSError("connection refused")) == "connection refused"


def test_a_connection_to_the_server_ends_with_the_servers_certificate(
    link: Link, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FleetHttpClient, "from_server_address", FleetHttpClient.from_server_address)
    monkeypatch.setattr(FleetHttpClient, "_send", FleetHttpClient._send)
    folder = HolderFolder(tmp_path)
    own, begin = credentials("bob"), datetime.now(UTC) - timedelta(days=1) + timedelta(seconds=4)
    server = server_certificate(authority(), [], 1, begin)
    for name, content in (
        ("authority.pem", own.authority), ("holder.pem", own.certificate), ("holder.key", own.key),
        ("server.pem", server.certificate), ("server.key", server.key),
    ):  # fmt: skip
        (tmp_path / name).write_bytes(content)
    link.context = server_context(*(str(tmp_path / name) for name in ("server.pem", "server.key", "authority.pem")))
    link.answers += [(200, SendNodeHeartbeatResponse(success=True).SerializeToString())] * 2
    link.open()
    fleet_client.show_certificate(folder)
    fleet_client.drop_expired_connections()
    with FleetHttpClient.from_server_address(f"127.0.0.1:{link.port}", False, None, []) as client:
        client.SendNodeHeartbeat(SendNodeHeartbeatRequest())
        time.sleep(4)
        for _ in range(2):
            with pytest.raises(httpx.TransportError) as refused:
                client.SendNodeHeartbeat(SendNodeHeartbeatRequest())
            assert explain(refused.value).startswith("the server's certificate has expired by this machine's clock")
    assert len(link.answers) == 0
