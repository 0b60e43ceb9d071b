"""Flower still has what the guards replace and use; where it has changed, the failing test's id names the target."""

import ast
import io
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from inspect import Parameter, getsource, signature
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace
from typing import Any

import pytest
from flwr.supercore.constant import TaskType
from flwr.supercore.primitives.asymmetric import public_key_to_bytes
from flwr.supercore.protobuf.client import ProtobufClient
from flwr.supercore.superexec.executor.types import ExecutionSpec

from fedwalk.errors import ProtocolError
from fedwalk.federation.app_folder import write_app
from fedwalk.federation.flower_guards import (
    answer_limits,
    fleet_client,
    hooks,
    local_secret,
    superlink,
    supernode,
    task_processes,
)
from fedwalk.federation.flower_guards.environment import FLOWER_VARIABLES
from fedwalk.federation.flower_guards.hooks import (
    DEPENDENCIES,
    HOOKS,
    SUPERLINK_MAIN,
    SUPERNODE_MAIN,
    Dependency,
    FlowerChangedError,
    Hook,
    install,
    locate,
)
from fedwalk.federation.flower_guards.local_requests import START_RUN
from fedwalk.federation.flower_guards.local_secret import HEADER, send_secret
from fedwalk.federation.flower_guards.request_limits import FLEET, PUBLIC_KEY_HEADER
from fedwalk.federation.membership.folders import FederationFolder
from fedwalk.federation.membership.keys import read_node_key
from fedwalk.federation.membership.members import node_key_pem
from helpers.asgi_requests import node_key

MODULE_HOOKS = {target: hook for target, hook in HOOKS.items() if hook.members}
CALLED_HOOKS = {target: hook for target, hook in HOOKS.items() if hook.signature}
NAMED_HOOKS = {target: hook for target, hook in HOOKS.items() if not hook.members}


def each(named: dict[str, Any]) -> Callable[[Any], Any]:
    """Parametrize a test by these values, with the names as ids."""
    return pytest.mark.parametrize("expected", named.values(), ids=list(named))


def plain_signature(function: Any) -> str:
    """A signature without types and defaults."""
    real = signature(function)
    bare = [one.replace(annotation=Parameter.empty, default=Parameter.empty) for one in real.parameters.values()]
    return str(real.replace(parameters=bare, return_annotation=real.empty))


def attributes(tree: ast.AST, module: str) -> Iterator[ast.Attribute]:
    """Every `module.name` in the source."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == module:
            yield node


def loaded_names(tree: ast.AST) -> Iterator[str]:
    """Every name or attribute that the source reads."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr


def attributes_set(tree: ast.AST) -> Iterator[str]:
    """Every `name` in `self.name = …`."""
    for node in attributes(tree, "self"):
        if isinstance(node.ctx, ast.Store):
            yield node.attr


@each(CALLED_HOOKS)
def test_a_replaced_function_has_the_signature_that_we_expect(expected: Hook) -> None:
    assert plain_signature(locate(expected.target)) == expected.signature


@each(NAMED_HOOKS)
def test_flower_still_uses_what_we_replace(expected: Hook) -> None:
    """A target that exists but is no longer called would be replaced without effect."""
    # A constructor is used where the class is.
    name = expected.target.removesuffix(".__init__").rpartition(":")[2].rpartition(".")[2]
    source = getsource(import_module(expected.caller or expected.target.partition(":")[0]))
    assert name in set(loaded_names(ast.parse(source)))


@each(MODULE_HOOKS)
def test_a_substitute_for_a_module_offers_all_that_flower_uses_of_it(expected: Hook) -> None:
    module, _, name = expected.target.partition(":")
    assert locate(expected.target).__name__ == name
    tree = ast.parse(getsource(import_module(module)))
    assert {node.attr for node in attributes(tree, name)} <= expected.members.keys()
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    for member, keywords in expected.members.items():
        for call in calls:
            if isinstance(call.func, ast.Attribute) and call.func in set(attributes(tree, name)):
                assert call.func.attr != member or set(keywords) <= {one.arg for one in call.keywords}


@pytest.mark.filterwarnings("ignore:The 'is_flag':DeprecationWarning")  # Flower's own, when its CLI is imported
@pytest.mark.parametrize("expected", DEPENDENCIES, ids=[one.target for one in DEPENDENCIES])
def test_flower_has_what_the_guards_use(expected: Dependency) -> None:
    actual = locate(expected.target)
    if expected.signature:
        assert plain_signature(actual) == expected.signature
    if expected.value is not None:
        assert actual == expected.value
    if expected.routes:
        assert set(expected.routes) <= {route.path for route in actual.routes}
    if expected.sets:
        assert set(expected.sets) <= set(attributes_set(ast.parse(dedent(getsource(actual)))))


def test_the_values_that_fedwalk_repeats_are_those_that_are_checked() -> None:
    checked = {str(one.value) for one in DEPENDENCIES if one.value is not None}
    assert {FLEET.rstrip("/"), PUBLIC_KEY_HEADER.decode()} <= checked
    assert START_RUN in {route for one in DEPENDENCIES for route in one.routes}
    assert FLOWER_VARIABLES.keys() <= checked | {"FLWR_TELEMETRY_ENABLED"}


def test_flower_writes_a_node_key_as_members_do() -> None:
    key: Any = read_node_key(node_key("ann"))
    assert public_key_to_bytes(key) == node_key_pem(node_key("ann"))


def test_a_hook_that_is_not_declared_can_not_be_installed() -> None:
    target = "flwr.supernode.start_client_internal:start_client_internal"
    before = locate(target)
    with pytest.raises(ValueError, match=rf"{target}: isn't declared in HOOKS"):
        install(target, None)
    assert locate(target) is before


def test_the_list_of_hooks_can_not_be_changed_at_run_time() -> None:
    changed: Any = HOOKS
    with pytest.raises(TypeError):
        changed["flwr.app:Message"] = Hook("flwr.app:Message")


def test_the_guards_together_install_every_declared_hook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = set[str]()

    def record(target: str, replacement: Any) -> Any:
        installed.add(target)
        return locate(target)

    for module in (answer_limits, fleet_client, local_secret, superlink, supernode, task_processes):
        monkeypatch.setattr(module, "install", record)
    for target in (f"{SUPERLINK_MAIN}:flower_superlink", f"{SUPERNODE_MAIN}:flower_supernode"):
        monkeypatch.setattr(import_module(target.partition(":")[0]), target.partition(":")[2], lambda: None)
    monkeypatch.setattr("flwr.supercore.cli.flower_superexec", lambda: None)
    monkeypatch.setenv("FLWR_HOME", str(tmp_path))
    local_secret.make_secret(tmp_path)
    write_app(FederationFolder(tmp_path).app)
    for main, *arguments in (
        (superlink.main, str(tmp_path)), (supernode.main, str(tmp_path), "digest"),
        (task_processes.main, task_processes.SUPEREXEC),
    ):  # fmt: skip
        monkeypatch.setattr(sys, "argv", ["python", *arguments])
        main()
    answer_limits.bound_answers(1, 1.0)
    assert installed == HOOKS.keys()


@pytest.mark.parametrize("target", ["flwr.app:Gone", "flwr.app:Array.gone", "flwr.gone:thing", "flwr.app:Gone.inflate"])
def test_a_declared_target_that_flower_lacks_is_an_error_and_is_not_created(
    target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hooks, "HOOKS", {target: Hook(target)})
    with pytest.raises(FlowerChangedError, match=rf"has no {target}, which fedwalk guards .* pip install"):
        install(target, None)
    with pytest.raises((AttributeError, ImportError)):
        locate(target)


def test_the_secret_is_sent_to_this_machine_only(monkeypatch: pytest.MonkeyPatch) -> None:
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


@pytest.mark.parametrize("target", [target for target in HOOKS if target.endswith(":subprocess")])
def test_flower_can_start_nothing_but_a_superexec(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = import_module(target.partition(":")[0])
    monkeypatch.setattr(module, "subprocess", subprocess)
    task_processes.start_superexec_by_module(target)
    with pytest.raises(ProtocolError, match="'flwr-simulation'"):
        module.subprocess.Popen(["flwr-simulation"])


def test_only_the_apps_of_a_federation_are_launched_and_tokens_are_no_arguments(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started: list[list[str]] = []

    class Process:
        """A process that isn't started: its command is kept."""

        def __init__(self, command: list[str], **options: Any) -> None:
            started.append(command)
            self.stdin = io.BytesIO()

    monkeypatch.setattr(subprocess, "Popen", Process)
    for kind, count in ((TaskType.CLIENT_APP, 1), (TaskType.SERVER_APP, 2), (TaskType.SIMULATION, 2)):
        spec = ExecutionSpec(kind, "127.0.0.1:1", "the token", False, "root.pem", False, 5, False, 7)
        task_processes.launch(SimpleNamespace(), spec)
        assert len(started) == count
    assert not any("the token" in word for command in started for word in command)
    assert {"task_type", "runtime_api_address", "token", "root_certificates_path", "parent_pid"} <= set(
        signature(ExecutionSpec).parameters
    )
