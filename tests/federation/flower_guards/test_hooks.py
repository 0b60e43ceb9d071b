"""What we replace in Flower is there: where Flower has moved it, the test that names it fails."""

import io
import subprocess
from importlib import import_module
from inspect import signature
from types import SimpleNamespace
from typing import Any

import pytest
from flwr.supercore.constant import TaskType
from flwr.supercore.protobuf.client import ProtobufClient
from flwr.supercore.superexec.executor.types import ExecutionSpec

from fedwalk.errors import ProtocolError
from fedwalk.federation.flower_guards import task_processes
from fedwalk.federation.flower_guards.hooks import replace
from fedwalk.federation.flower_guards.local_secret import HEADER, send_secret

HOOKS = {
    "flwr.superlink.cli.flower_superlink": ["uvicorn.run", "subprocess.Popen", "flower_superlink"],
    "flwr.superlink.servicer.control.control_handlers": ["start_run"],
    "flwr.superlink.routers.control.router": ["control_handlers.start_run"],
    "flwr.supernode.cli.flower_supernode": ["uvicorn.Config", "uvicorn.Server", "flower_supernode"],
    "flwr.supernode.start_client_internal": [
        "subprocess.Popen", "get_fused_config_from_fab", "_pull_and_store_message",
    ],
    "flwr.supernode.fleet_http_client": [
        "FleetHttpClient.from_server_address", "FleetHttpClient._send", "FleetHttpClient.ActivateNode",
        "FleetHttpClient.SendNodeHeartbeat", "FleetHttpClient.PullMessages", "FleetHttpClient.PushMessages",
        "FleetHttpClient.PushObject", "FleetHttpClient.PullObject",
    ],
    "flwr.supernode.fleet_http_connection": ["HEARTBEAT_DEFAULT_INTERVAL"],
    "flwr.supercore.heartbeat": ["HEARTBEAT_DEFAULT_INTERVAL"],
    "flwr.supercore.superexec.executor.subprocess_executor": ["SubprocessExecutor.launch"],
    "flwr.supercore.protobuf.client": ["ProtobufClient.__init__"],
    "flwr.superlink.grid.http_grid": ["pull_objects"],
}  # fmt: skip


@pytest.mark.parametrize(("module", "name"), [(module, name) for module, names in HOOKS.items() for name in names])
def test_flower_has_what_we_replace(module: str, name: str) -> None:
    found: Any = import_module(module)
    for part in name.split("."):
        found = getattr(found, part)


def test_what_is_missing_is_an_error_and_not_put_in_place() -> None:
    owner = SimpleNamespace(there=1)
    assert replace(owner, "there", 2) == 1
    with pytest.raises(AttributeError, match="gone"):
        replace(owner, "gone", 3)
    assert vars(owner) == {"there": 2}


def test_the_secret_goes_to_this_machine_and_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ProtobufClient, "__init__", ProtobufClient.__init__)
    send_secret("a secret")
    for url, sent in (
        ("https://127.0.0.1:9092", True), ("http://127.0.0.1:9092", False), ("https://192.0.2.1:9092", False),
        ("https://127.0.0.1.example.org:9092", False),
    ):  # fmt: skip
        client: Any = ProtobufClient(url)
        assert (client._client.headers.get(HEADER) == "a secret") == sent
        assert client._client.follow_redirects is False
        client._client.close()


def test_nothing_but_a_superexec_is_started_for_flower() -> None:
    module = SimpleNamespace(subprocess=None)
    task_processes.start_superexec_by_module(module)
    with pytest.raises(ProtocolError, match="'flwr-simulation'"):
        module.subprocess.Popen(["flwr-simulation"])


def test_only_the_apps_of_a_federation_are_launched_and_tokens_are_no_arguments(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started: list[list[str]] = []

    class Process:
        """What was started, and what it was given."""

        def __init__(self, command: list[str], **options: Any) -> None:
            started.append(command)
            self.stdin = io.BytesIO()

    monkeypatch.setattr(subprocess, "Popen", Process)
    for kind, count in ((TaskType.CLIENT_APP, 1), (TaskType.SERVER_APP, 2), (TaskType.SIMULATION, 2)):
        spec = ExecutionSpec(kind, "127.0.0.1:1", "the token", False, "root.pem", False, 5, False, 7)
        task_processes.launch(None, spec)
        assert len(started) == count
    assert not any("the token" in word for command in started for word in command)
    assert {"task_type", "runtime_api_address", "token", "root_certificates_path", "parent_pid"} <= set(
        signature(ExecutionSpec).parameters
    )
