"""Who may import whom, how large a folder may be, and that only a protocol's own folder knows its name.

All rules are read from the source.
"""

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import fedwalk
from fedwalk.protocols.registry import OURS

PACKAGE = Path(fedwalk.__file__).parent
MODULES = {
    ".".join(("fedwalk", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}

OUTSIDE = {"os", "io", "pathlib", "shutil", "tempfile", "socket", "subprocess", "time", "datetime", "random", "sys"}
MAX_MODULES = 17
"""In one folder: about fifteen, and `__init__`."""


@cache
def parsed(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text(encoding="utf-8"))


def nodes(tree: ast.AST, *, typing_too: bool) -> Iterator[ast.AST]:
    """Every node; without `typing_too`, not those under `if TYPE_CHECKING`, which never run."""
    for node in ast.iter_child_nodes(tree):
        only_types = isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        if typing_too or not only_types:
            yield node
            yield from nodes(node, typing_too=typing_too)


def imports(module: str, *, typing_too: bool = True) -> Iterator[str]:
    """Every module that a module imports, anywhere in it, by full name."""
    for node in nodes(parsed(module), typing_too=typing_too):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: a relative import"
            assert node.module is not None
            yield node.module
            yield from (name for alias in node.names if (name := f"{node.module}.{alias.name}") in MODULES)


def within(name: str, *packages: str) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def ours(module: str, *, typing_too: bool = True) -> list[str]:
    return [name for name in imports(module, typing_too=typing_too) if within(name, "fedwalk")]


def everything_imported(module: str) -> set[str]:
    """Our modules that come along with a module, directly or through others."""
    known: set[str] = set()
    waiting = [module]
    while waiting:
        fresh = {name for name in ours(waiting.pop()) if name in MODULES} - known
        known |= fresh
        waiting += fresh
    return known


def modules_of(*packages: str) -> list[str]:
    return [module for module in MODULES if within(module, *packages)]


def package_of(module: str) -> str:
    """What counts as one package: a folder of fedwalk, of the federation or of the protocols; else a single module.

    The modules beside the protocols' folders, which all of them share, are one package.
    """
    parts = module.split(".")
    if parts[1:2] == ["federation"] or (parts[1:2] == ["protocols"] and parts[2:3] and parts[2] in OURS):
        return ".".join(parts[:3])
    return ".".join(parts[:2])


def package_imports() -> dict[str, set[str]]:
    """Which package imports which others when it runs."""
    graph: dict[str, set[str]] = {package_of(module): set() for module in MODULES}
    for module in MODULES:
        targets = {package_of(name) for name in ours(module, typing_too=False) if name in MODULES}
        graph[package_of(module)] |= targets - {package_of(module)}
    return graph


def find_cycle(graph: dict[str, set[str]]) -> list[str]:
    """A path that returns to its beginning, or an empty list."""
    finished: set[str] = set()

    def visit(node: str, path: list[str]) -> list[str]:
        if node in path:
            return [*path[path.index(node) :], node]
        if node in finished:
            return []
        for other in sorted(graph[node]):
            if cycle := visit(other, [*path, node]):
                return cycle
        finished.add(node)
        return []

    return next((cycle for node in sorted(graph) if (cycle := visit(node, []))), [])


def test_the_modules_are_there() -> None:
    assert {"fedwalk", "fedwalk.protocols.paper.server", "fedwalk.cli.embed"} <= MODULES.keys()
    assert "fedwalk.protocols.paper.degree_vectors" in set(imports("fedwalk.protocols.paper.server"))
    assert "fedwalk.protocols.paper.predictors.tree" in set(imports("fedwalk.protocols.paper.predictors"))


def test_no_package_imports_one_that_imports_it() -> None:
    assert find_cycle(package_imports()) == []


def test_a_cycle_would_be_found() -> None:
    assert find_cycle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert find_cycle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_no_folder_is_crowded() -> None:
    sizes = Counter(path.parent.relative_to(PACKAGE) for path in MODULES.values())
    assert {str(folder): size for folder, size in sizes.items() if size > MAX_MODULES} == {}


@pytest.mark.parametrize("module", modules_of("fedwalk.protocols"))
def test_protocols_know_only_what_is_below_them(module: str) -> None:
    below = ("protocols", "kernels", "privacy", "attacks", "errors", "graph.graph", "graph.pairs")
    helpers = ("util.html", "util.parallel", "util.text")
    # A protocol decides what its vectors are made from; the trainers are functions of arrays.
    trainers = ("embedding.skipgram", "embedding.spectral")
    for name in imports(module):
        allowed = within(
            name, "numpy", "scipy", "sklearn", "tomli_w", *(f"fedwalk.{one}" for one in (*below, *helpers, *trainers))
        )
        values = name in ("fedwalk.graph", "fedwalk.util", "fedwalk.embedding")
        assert allowed or values or name.split(".")[0] in sys.stdlib_module_names, f"{module} imports {name}"


@pytest.mark.parametrize("module", modules_of("fedwalk.protocols", "fedwalk.attacks", "fedwalk.privacy"))
def test_the_pure_core_touches_no_file_socket_or_clock(module: str) -> None:
    assert OUTSIDE.isdisjoint(name.split(".")[0] for name in imports(module))


@pytest.mark.parametrize("module", modules_of("fedwalk.privacy", "fedwalk.attacks"))
def test_privacy_and_the_parts_of_attacks_know_no_protocol(module: str) -> None:
    assert not any(within(name, "fedwalk.protocols", "fedwalk.run") for name in ours(module))


@pytest.mark.parametrize("module", modules_of("fedwalk.kernels"))
def test_kernels_know_nothing_of_the_rest(module: str) -> None:
    assert all(within(name, "fedwalk.kernels", "fedwalk.errors") for name in ours(module))


@pytest.mark.parametrize("module", modules_of("fedwalk.util"))
def test_what_every_layer_may_use_knows_only_the_standard_library(module: str) -> None:
    for name in imports(module):
        known = within(name, "fedwalk.util", "fedwalk.errors")
        assert known or name.split(".")[0] in sys.stdlib_module_names, f"{module} imports {name}"


@pytest.mark.parametrize("module", modules_of("fedwalk.graph"))
def test_graphs_know_nothing_of_the_protocols(module: str) -> None:
    assert all(within(name, "fedwalk.graph", "fedwalk.errors", "fedwalk.util") for name in ours(module))


@pytest.mark.parametrize("module", [module for module in MODULES if not within(module, "fedwalk.cli")])
def test_only_the_command_line_imports_the_command_line(module: str) -> None:
    if module != "fedwalk.__main__":
        assert not any(within(name, "fedwalk.cli", "rich") for name in imports(module))


@pytest.mark.parametrize("module", [m for m in MODULES if not within(m, "fedwalk.cli", "fedwalk.report")])
def test_only_the_command_line_imports_the_report(module: str) -> None:
    assert not any(within(name, "fedwalk.report") for name in ours(module))


def test_the_server_holds_no_neighbour_list() -> None:
    lists = ("fedwalk.graph", "fedwalk.protocols.paper.device")
    assert not any(within(name, *lists) for name in ours("fedwalk.protocols.paper.server"))


def test_a_device_knows_neither_server_nor_graph() -> None:
    others = ("fedwalk.graph", "fedwalk.protocols.paper.server")
    assert not any(within(name, *others) for name in ours("fedwalk.protocols.paper.device"))


LDP = "fedwalk.protocols.ldp"
LDP_DECODER = [f"{LDP}.{n}" for n in ("reports", "degree_estimate", "edge_prior", "edge_posterior", "posterior_power")]
"""What reads reports: none of it may come near a neighbour list."""


@pytest.mark.parametrize("module", LDP_DECODER)
def test_in_ldp_only_the_device_holds_a_neighbour_list(module: str) -> None:
    holders = ("fedwalk.graph", f"{LDP}.device", "fedwalk.protocols.paper.device", f"{LDP}.simulate")
    assert not any(within(name, *holders) for name in everything_imported(module))


def test_a_reporting_device_knows_neither_graph_nor_decoder() -> None:
    others = ("fedwalk.graph", "fedwalk.protocols.paper.server", "fedwalk.embedding", *LDP_DECODER)
    assert not any(within(name, *others) for name in everything_imported(f"{LDP}.device"))


SERVERS_PART = [
    *(f"fedwalk.federation.server.{n}" for n in ("coordinator", "walk_phase", "fleet", "flower_grid", "statistics")),
    "fedwalk.federation.wire.flower_records",
    *(f"fedwalk.protocols.{name}.federated" for name in ("paper", "ldp")),
]
HOLDERS_PART = [
    f"fedwalk.federation.{name}"
    for name in (
        "wire.questions", "wire.token_batches", "holder.neighbour_lists", "holder.terms", "holder.answers",
        "walking.engine", "walking.plan", "walking.termination",
    )
]  # fmt: skip


@pytest.mark.parametrize("module", [module for module in MODULES if not within(module, "fedwalk.federation")])
def test_only_the_federation_needs_flower(module: str) -> None:
    assert not any(within(name, "flwr", "grpc", "cryptography", "psutil") for name in imports(module))
    if not within(module, "fedwalk.cli.federate"):
        assert not any(within(name, "fedwalk.federation") for name in ours(module))


@pytest.mark.parametrize("module", SERVERS_PART)
def test_a_federations_server_holds_no_neighbour_list(module: str) -> None:
    holders = [f"fedwalk.federation.{name}" for name in ("holder", "walking.engine", "apps.client_app")]
    devices = ("fedwalk.protocols.paper.device", f"{LDP}.device")
    assert not any(within(name, *holders, *devices) for name in ours(module))


@pytest.mark.parametrize("module", HOLDERS_PART)
def test_a_holders_own_part_touches_no_file_socket_or_clock(module: str) -> None:
    assert OUTSIDE.isdisjoint(name.split(".")[0] for name in imports(module))
    assert not any(within(name, "flwr", "grpc", "asyncio") for name in imports(module))


def test_a_holder_knows_no_server() -> None:
    server = ("fedwalk.federation.server", "fedwalk.federation.apps.server_app", "fedwalk.protocols.paper.server")
    answers, engine = "fedwalk.federation.holder.answers", "fedwalk.federation.walking.engine"
    known = everything_imported(answers) | everything_imported(engine)
    assert not any(within(name, *server) for name in known)


CHOOSING = {
    "fedwalk.protocols.registry": "it is the list of our protocols",
    "fedwalk.protocols.settings": "the default of the setting `protocol`",
    "fedwalk.estimators.fedwalk": "the default of the parameter `protocol`, which is that of the settings",
    "fedwalk.cli.demo": "the demo compares two protocols",
    "fedwalk.cli.reproduce": "an experiment is named like the protocol that it measures",
    "fedwalk.experiments.figure_5": "the paper's experiments compare given protocols",
    "fedwalk.experiments.private": "this experiment compares given protocols",
    "fedwalk.experiments.publish": "an experiment is named like the protocol that it measures",
}
"""Modules that may write a protocol's name: they choose one to run. None of them may decide anything by it."""
USING = {
    "fedwalk.estimators": "its attributes are values of our protocols' stages",
    "fedwalk.experiments": "the paper's experiments look into its protocol",
    "fedwalk.report.source": "tree.npz holds the tree of `paper`",
    "fedwalk.report.dendrogram": "it draws that tree",
    "fedwalk.federation": "it speaks the messages of our protocols",
}
"""Packages and modules that may import from a protocol's folder, and why."""


def names_written(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Lines with a protocol's name as a value, in whatever expression."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value in OURS:
            yield node.lineno, str(node.value)


def names_compared(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Lines that decide something by a protocol's name: a comparison, a match, or a table, look-up or call by name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            deciding: list[ast.AST] = [node.left, *node.comparators]
        elif isinstance(node, ast.Dict):
            deciding = [key for key in node.keys if key is not None]
        elif isinstance(node, ast.Subscript):
            deciding = [node.slice]
        elif isinstance(node, ast.MatchValue):
            deciding = [node.value]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            # Methods that compare or look up: startswith, get, index and the like.
            deciding = [*node.args] if node.func.attr in ("startswith", "endswith", "get", "index", "count") else []
        else:
            continue
        for part in deciding:
            yield from names_written(part)


def elsewhere(names: Iterator[tuple[int, str]], module: str) -> list[str]:
    """Those that are written outside the protocol's own folder."""
    return [f"line {line}: {name}" for line, name in names if not within(module, f"fedwalk.protocols.{name}")]


ADVICE = "read the protocol's value instead (fedwalk/protocols/base.py)"


@pytest.mark.parametrize("module", list(MODULES))
def test_only_its_own_folder_compares_a_protocols_name(module: str) -> None:
    assert elsewhere(names_compared(parsed(module)), module) == [], ADVICE
    # Any other use of the name could decide something by a detour, so only few modules may write it at all.
    assert module in CHOOSING or elsewhere(names_written(parsed(module)), module) == [], ADVICE


@pytest.mark.parametrize("module", [m for m in MODULES if m != "fedwalk" and not within(m, "fedwalk.protocols")])
def test_few_modules_look_into_a_protocols_folder(module: str) -> None:
    folders = [f"fedwalk.protocols.{name}" for name in OURS]
    looks = [name for name in ours(module) if within(name, *folders)]
    assert looks == [] or within(module, *USING), ADVICE


@pytest.mark.parametrize("folder", ["benchmarks", "examples"])
def test_programs_beside_the_package_compare_no_protocols_name_either(folder: str) -> None:
    for path in sorted((Path(__file__).parents[1] / folder).rglob("*.py")):
        assert list(names_compared(ast.parse(path.read_text(encoding="utf-8")))) == [], f"{path.name}: {ADVICE}"


@pytest.mark.parametrize(
    "code",
    ['settings.protocol == "ldp"', '"paper" in terms.protocols', 'protocol not in ("paper", "ldp")', '{"deepwalk": 1}',
     'TABLE["ldp"]', "match p:\n case 'paper': pass", 'p.startswith("ldp")', 'TABLE.get("paper")',
     'p in frozenset(["ldp"])', 'p is find_protocol("ldp")'],
)  # fmt: skip
def test_a_comparison_with_a_protocols_name_would_be_found(code: str) -> None:
    assert list(names_compared(ast.parse(code)))
