"""Who may import whom: the rules of the house, read from the source."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import fedwalk

PACKAGE = Path(fedwalk.__file__).parent
MODULES = {
    ".".join(("fedwalk", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}

OUTSIDE = {"os", "io", "pathlib", "shutil", "tempfile", "socket", "subprocess", "time", "datetime", "random", "sys"}


def imports(module: str) -> Iterator[str]:
    """Every module that a module imports, anywhere in it, by full name."""
    for node in ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: a relative import"
            assert node.module is not None
            yield node.module
            yield from (name for alias in node.names if (name := f"{node.module}.{alias.name}") in MODULES)


def within(name: str, *packages: str) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def ours(module: str) -> list[str]:
    return [name for name in imports(module) if within(name, "fedwalk")]


def everything_imported(module: str) -> set[str]:
    """Our modules that come along with a module, directly or through others."""
    found: set[str] = set()
    waiting = [module]
    while waiting:
        fresh = {name for name in ours(waiting.pop()) if name in MODULES} - found
        found |= fresh
        waiting += fresh
    return found


def rooms(*packages: str) -> list[str]:
    return [module for module in MODULES if within(module, *packages)]


def test_the_modules_are_found() -> None:
    assert {"fedwalk", "fedwalk.protocol.server", "fedwalk.cli.embed"} <= MODULES.keys()
    assert "fedwalk.protocol.degree" in set(imports("fedwalk.protocol.server"))
    assert "fedwalk.protocol.predictor.tree" in set(imports("fedwalk.protocol.predictor"))


@pytest.mark.parametrize("module", rooms("fedwalk.protocol"))
def test_the_protocol_knows_numbers_kernels_and_itself(module: str) -> None:
    for name in imports(module):
        mechanisms = name == "fedwalk.privacy.mechanisms"
        allowed = within(name, "numpy", "fedwalk.protocol", "fedwalk.kernels", "fedwalk.errors") or mechanisms
        scipy = module == "fedwalk.protocol.clustering" and within(name, "scipy")
        assert allowed or scipy or name.split(".")[0] in sys.stdlib_module_names, f"{module} imports {name}"


@pytest.mark.parametrize("module", rooms("fedwalk.protocol"))
def test_the_protocol_touches_no_file_socket_or_clock(module: str) -> None:
    assert OUTSIDE.isdisjoint(name.split(".")[0] for name in imports(module))


@pytest.mark.parametrize("module", rooms("fedwalk.kernels"))
def test_kernels_know_nothing_of_the_rest(module: str) -> None:
    assert all(within(name, "fedwalk.kernels", "fedwalk.errors") for name in ours(module))


@pytest.mark.parametrize("module", rooms("fedwalk.graph"))
def test_graphs_know_nothing_of_the_protocol(module: str) -> None:
    assert all(within(name, "fedwalk.graph", "fedwalk.errors", "fedwalk.kernels") for name in ours(module))


@pytest.mark.parametrize("module", rooms("fedwalk.embedding", "fedwalk.settings", "fedwalk.errors"))
def test_values_know_nothing_of_who_runs_them(module: str) -> None:
    assert not any(within(name, "fedwalk.runtime", "fedwalk.pipeline", "fedwalk.model") for name in ours(module))


@pytest.mark.parametrize("module", [module for module in MODULES if not within(module, "fedwalk.cli")])
def test_nobody_imports_the_command_line(module: str) -> None:
    if module != "fedwalk.__main__":
        assert not any(within(name, "fedwalk.cli", "rich") for name in imports(module))


def test_the_server_holds_no_neighbour_list() -> None:
    assert not any(within(name, "fedwalk.graph", "fedwalk.protocol.device") for name in ours("fedwalk.protocol.server"))


def test_a_device_knows_neither_server_nor_graph() -> None:
    assert not any(within(name, "fedwalk.graph", "fedwalk.protocol.server") for name in ours("fedwalk.protocol.device"))


LDP_DEVICE = "fedwalk.privacy.device"
LDP_SERVER = [*(module for module in rooms("fedwalk.privacy") if module != LDP_DEVICE), "fedwalk.embedding.spectral"]
"""What reads reports, and what counts their cost: none of it may come near a neighbour list."""


@pytest.mark.parametrize("module", LDP_SERVER)
def test_in_ldp_only_the_device_holds_a_neighbour_list(module: str) -> None:
    holders = ("fedwalk.graph", LDP_DEVICE, "fedwalk.protocol.device", "fedwalk.runtime")
    assert not any(within(name, *holders) for name in everything_imported(module))


def test_a_list_device_knows_neither_graph_nor_decoder() -> None:
    others = ("fedwalk.graph", "fedwalk.runtime", "fedwalk.protocol.server", "fedwalk.embedding")
    decoder = [f"fedwalk.privacy.{name}" for name in ("degrees", "prior", "posterior", "reports")]
    assert not any(within(name, *others, *decoder) for name in everything_imported(LDP_DEVICE))


@pytest.mark.parametrize("module", rooms("fedwalk.privacy"))
def test_privacy_touches_no_file_socket_or_clock(module: str) -> None:
    assert OUTSIDE.isdisjoint(name.split(".")[0] for name in imports(module))


SERVERS_PART = [
    f"fedwalk.federation.{name}" for name in ("coordinator", "walking", "flow", "post", "account", "records")
]
PURE = [
    f"fedwalk.federation.{name}"
    for name in ("parcels", "lists", "holder", "tokens", "mill", "walk_plan", "termination")
]


@pytest.mark.parametrize("module", [module for module in MODULES if not within(module, "fedwalk.federation")])
def test_only_the_federation_needs_flower(module: str) -> None:
    assert not any(within(name, "flwr", "grpc", "cryptography", "psutil") for name in imports(module))
    if not within(module, "fedwalk.cli.federate"):
        assert not any(within(name, "fedwalk.federation") for name in ours(module))


@pytest.mark.parametrize("module", SERVERS_PART)
def test_a_federations_server_holds_no_neighbour_list(module: str) -> None:
    holders = [
        f"fedwalk.federation.{name}" for name in ("lists", "lists_file", "holder", "mill", "memory", "client_app")
    ]
    assert not any(within(name, *holders, "fedwalk.protocol.device", LDP_DEVICE) for name in ours(module))


@pytest.mark.parametrize("module", PURE)
def test_a_holders_own_part_touches_no_file_socket_or_clock(module: str) -> None:
    assert OUTSIDE.isdisjoint(name.split(".")[0] for name in imports(module))
    assert not any(within(name, "flwr", "grpc", "asyncio") for name in imports(module))


def test_a_holder_knows_no_server() -> None:
    server = [*SERVERS_PART, "fedwalk.federation.job", "fedwalk.federation.server_app", "fedwalk.protocol.server"]
    known = everything_imported("fedwalk.federation.holder") | everything_imported("fedwalk.federation.mill")
    assert not any(within(name, *server) for name in known)
