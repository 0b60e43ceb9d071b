"""The list of everything in Flower that fedwalk replaces or relies on beyond its public API.

A target is written "module:name". `HOOKS` are replaced by a guard, `DEPENDENCIES` are only used. Both lists say what
fedwalk expects to find there, and tests/federation/flower_guards/test_hooks.py compares each entry with the installed
Flower: after an upgrade, the failing test names what has moved or changed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import version
from types import MappingProxyType
from typing import Any

from fedwalk.errors import FedWalkError
from fedwalk.util.extras import install_hint


class FlowerChangedError(FedWalkError):
    """The installed Flower lacks something that fedwalk has to replace."""


@dataclass(frozen=True, slots=True)
class Hook:
    """Something of Flower's that a guard replaces.

    `signature` has the parameters' names without types and defaults; it is empty for anything that isn't called.
    `caller` is the module of Flower's that uses the target; "" stands for the target's own module. For a target that
    is itself a module, such as `uvicorn`, `members` lists what our substitute offers, and the keyword arguments that
    Flower must pass to it.
    """

    target: str
    signature: str = ""
    caller: str = ""
    members: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Dependency:
    """Something of Flower's that a guard uses as it is.

    `value` is what it must equal, if fedwalk repeats it. `routes` are paths that a router must serve, and `sets` are
    attributes that a method must give to its object.
    """

    target: str
    signature: str = ""
    value: object = None
    routes: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()


LISTEN = ("app", "host", "port", "ssl_certfile", "ssl_keyfile")
FLEET_CLIENT, FLEET_CONNECTION = (
    "flwr.supernode.fleet_http_client:FleetHttpClient",
    "flwr.supernode.fleet_http_connection",
)
SUPERNODE_LOOP = "flwr.supernode.start_client_internal"
SUPERLINK_MAIN, SUPERNODE_MAIN = "flwr.superlink.cli.flower_superlink", "flwr.supernode.cli.flower_supernode"


def _by_target(hooks: Iterable[Hook]) -> Mapping[str, Hook]:
    return MappingProxyType({hook.target: hook for hook in hooks})


HOOKS = _by_target([
    # superlink.py: two guarded ports in place of one open port, and no app but fedwalk's.
    Hook(f"{SUPERLINK_MAIN}:uvicorn", members={"run": LISTEN}),
    Hook(f"{SUPERLINK_MAIN}:subprocess", members={"Popen": (), "TimeoutExpired": ()}),
    Hook(
        "flwr.superlink.servicer.control.control_handlers:start_run",
        "(request, account, state, fleet_api_type, *, source)", caller="flwr.superlink.routers.control.router",
    ),
    # supernode.py: the same for a holder's own API, and for the app that the server sends.
    Hook(f"{SUPERNODE_MAIN}:uvicorn", members={"Config": LISTEN, "Server": ()}),
    Hook(f"{SUPERNODE_LOOP}:subprocess", members={"Popen": (), "TimeoutExpired": ()}),
    Hook(f"{SUPERNODE_LOOP}:get_fused_config_from_fab", "(fab_file, run)"),
    Hook(
        f"{SUPERNODE_LOOP}:_pull_and_store_message",
        "(state, object_store, node_config, receive, get_run, get_fab, pull_object, confirm_message_received, "
        "trusted_entities)",
    ),
    Hook("flwr.supercore.heartbeat:HEARTBEAT_DEFAULT_INTERVAL"),
    Hook(f"{FLEET_CONNECTION}:HEARTBEAT_DEFAULT_INTERVAL"),
    # fleet_client.py: the holder's certificate, and messages to its owner about the connection.
    Hook(
        f"{FLEET_CLIENT}.from_server_address",
        "(server_address, insecure, root_certificates, interceptors, *, retry_invoker)", caller=FLEET_CONNECTION,
    ),
    Hook(f"{FLEET_CLIENT}._send", "(self, context, *, stream)", caller="flwr.supercore.protobuf.client"),
    Hook(f"{FLEET_CLIENT}.ActivateNode", "(self, request)", caller=FLEET_CONNECTION),
    Hook(f"{FLEET_CLIENT}.SendNodeHeartbeat", "(self, request)", caller=FLEET_CONNECTION),
    Hook(f"{FLEET_CLIENT}.PullMessages", "(self, request)", caller=FLEET_CONNECTION),
    Hook(f"{FLEET_CLIENT}.PushMessages", "(self, request)", caller=FLEET_CONNECTION),
    Hook(f"{FLEET_CLIENT}.PushObject", "(self, request)", caller=FLEET_CONNECTION),
    Hook(f"{FLEET_CLIENT}.PullObject", "(self, request)", caller=FLEET_CONNECTION),
    # local_secret.py and task_processes.py: only the owner's processes use the local APIs.
    Hook(
        "flwr.supercore.protobuf.client:ProtobufClient.__init__",
        "(self, base_url, *, interceptors, verify, timeout, retry_invoker)",
        caller="flwr.supercore.runtime.runtime_http_client",
    ),
    Hook(
        "flwr.supercore.superexec.executor.subprocess_executor:SubprocessExecutor.launch", "(self, spec)",
        caller="flwr.supercore.superexec.plugin.base_exec_plugin",
    ),
    # answer_limits.py: an answer's size in the server's memory.
    Hook(
        "flwr.superlink.grid.http_grid:pull_objects",
        "(object_ids, pull_object_fn, *, max_concurrent_pulls, max_time, max_tries_per_object, initial_backoff, "
        "backoff_cap)",
    ),
    Hook(
        "flwr.app:Array.inflate", "(object_content, children)", caller="flwr.supercore.inflatable.inflatable_utils",
    ),
])  # fmt: skip

DEPENDENCIES = (
    # The processes that the guards start.
    Dependency(f"{SUPERLINK_MAIN}:flower_superlink", "()"),
    Dependency(f"{SUPERNODE_MAIN}:flower_supernode", "()"),
    Dependency("flwr.supercore.cli:flower_superexec", "()"),
    Dependency("flwr.superlink.cli:flwr_serverapp", "()"),
    Dependency(
        "flwr.supernode.runtime.run_clientapp:run_clientapp",
        "(runtime_api_address, token, insecure, certificates, parent_pid, runtime_dependency_install)",
    ),
    Dependency("flwr.cli.app:app", "(*args, **kwargs)"),
    Dependency("flwr.supercore.constant:TASK_TYPE_TO_COMMAND"),
    Dependency("flwr.supercore.superexec.executor.types:LaunchResult.failed", "(message)"),
    Dependency("flwr.supercore.superexec.executor.types:LaunchResult.accepted", "()"),
    # What they read from their environment.
    Dependency("flwr.supercore.telemetry:FLWR_TELEMETRY_ENABLED"),
    Dependency("flwr.supercore.constant:FLWR_DISABLE_UPDATE_CHECK", value="FLWR_DISABLE_UPDATE_CHECK"),
    Dependency(
        "flwr.common.constant:FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION",
        value="FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION",
    ),
    Dependency(
        "flwr.supercore.superexec.run_superexec:_TASK_POLL_INTERVAL_ENV", value="FLWR_SUPEREXEC_TASK_POLL_INTERVAL"
    ),
    # The app's bundle, its pieces on the wire, and errors in place of an answer.
    Dependency("flwr.cli.build:build_fab_from_disk", "(app)"),
    Dependency("flwr.supercore.inflatable.inflatable_object:get_object_body", "(object_content, cls)"),
    Dependency("flwr.common.constant:ErrorCode.NODE_UNAVAILABLE"),
    Dependency("flwr.common.constant:ErrorCode.CLIENT_APP_CRASHED"),
    # The HTTP requests that the ports accept.
    Dependency("flwr.superlink.routers.fleet.router:router.prefix", value="/v1/fleet"),
    Dependency("flwr.superlink.routers.control.router:router", routes=("/v1/control/start-run",)),
    Dependency("flwr.supercore.constant:FLEET_HTTP_PUBLIC_KEY_HEADER", value="flwr-public-key"),
    # The HTTP client to which local_secret.py adds the secret.
    Dependency("flwr.supercore.protobuf.client:ProtobufClient.__init__", sets=("_client",)),
)


def install(target: str, replacement: Any) -> Any:
    """Replace the target of a declared hook, and return the original.

    FlowerChangedError if the target is missing: a server or holder must not start without one of its guards.
    """
    if target not in HOOKS:
        raise ValueError(f"{target}: isn't declared in HOOKS, so no test would notice if Flower changed it.")
    module, _, path = target.partition(":")
    *outer, name = path.split(".")
    try:
        owner = locate(f"{module}:{'.'.join(outer)}")
        original = getattr(owner, name)
    except (ImportError, AttributeError) as error:
        raise FlowerChangedError(
            f"Flower {version('flwr')} has no {target}, which fedwalk guards ({error}). Nothing was started. Install "
            f"the version of Flower that this fedwalk names: {install_hint('flower')}"
        ) from error
    setattr(owner, name, replacement)
    return original


def locate(target: str) -> Any:
    """The object that a target names; ImportError or AttributeError if there is none."""
    module, _, name = target.partition(":")
    place: Any = import_module(module)
    for part in name.split(".") if name else ():
        place = getattr(place, part)
    return place
