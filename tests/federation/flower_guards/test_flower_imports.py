"""Only flower_guards reaches into Flower, and only through the lists in hooks.py: read from the source."""

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import fedwalk
from fedwalk.federation.flower_guards.hooks import DEPENDENCIES, HOOKS

PACKAGE = Path(fedwalk.__file__).parent
GUARDS = PACKAGE / "federation" / "flower_guards"
PUBLIC = ("flwr.app", "flwr.clientapp", "flwr.serverapp")
"""The packages that Flower's reference documents as its public APIs."""
DECLARED = [*HOOKS, *(one.target for one in DEPENDENCIES)]


def modules(*, guards: bool) -> list[str]:
    """The source files inside or outside flower_guards, as paths in the package."""
    paths = [path for path in sorted(PACKAGE.rglob("*.py")) if path.is_relative_to(GUARDS) == guards]
    return [str(path.relative_to(PACKAGE)) for path in paths]


def parse(module: str) -> ast.Module:
    return ast.parse((PACKAGE / module).read_text(encoding="utf-8"))


def flower_imports(tree: ast.AST) -> Iterator[tuple[str, str, str]]:
    """The module, name and local name of everything that is imported from Flower; no name for `import flwr`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] == "flwr":
                    yield alias.name, "", alias.asname or "flwr"
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "flwr":
            for alias in node.names:
                yield node.module, alias.name, alias.asname or alias.name


def root(node: ast.expr) -> str:
    """The name at the beginning of `name.attribute.attribute`; empty if the expression begins otherwise."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def intrusions(tree: ast.AST, names: set[str]) -> Iterator[str]:
    """Where the source changes, subclasses or looks inside one of these names, or imports Flower by a string."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and root(node) in names:
            if not isinstance(node.ctx, ast.Load):
                yield f"line {node.lineno}: sets {ast.unparse(node)}"
            elif node.attr.startswith("_"):
                yield f"line {node.lineno}: reads {ast.unparse(node)}"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("setattr", "delattr"):
            if root(node.args[0]) in names:
                yield f"line {node.lineno}: calls {ast.unparse(node)}"
        elif isinstance(node, ast.ClassDef):
            if any(root(base) in names for base in node.bases):
                yield f"line {node.lineno}: subclasses in {node.name}"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("flwr."):
            yield f"line {node.lineno}: names {node.value!r}"


@pytest.mark.parametrize("module", modules(guards=False))
def test_outside_the_guards_only_flowers_public_api_is_used_and_never_changed(module: str) -> None:
    tree = parse(module)
    names = set()
    for source, name, local in flower_imports(tree):
        assert source in PUBLIC, f"{module} imports {source}"
        assert name in import_module(source).__all__, f"{module} imports {name} from {source}"
        names.add(local)
    assert list(intrusions(tree, names)) == []


@pytest.mark.parametrize("module", modules(guards=True))
def test_everything_that_the_guards_import_from_flower_is_declared(module: str) -> None:
    tree = parse(module)
    names = set()
    for source, name, local in flower_imports(tree):
        target = f"{source}:{name}"
        is_declared = any(one == target or one.startswith(f"{target}.") for one in DECLARED)
        is_public = source in PUBLIC and name in import_module(source).__all__
        assert is_declared or is_public, f"{module} imports {target}, which hooks.py doesn't declare"
        names.add(local)
    changes = [one for one in intrusions(tree, names) if ": names " not in one]
    assert changes == [], "replace it with hooks.install"


@pytest.mark.parametrize("source", [
    "from flwr.app import Array\nArray.inflate = None", "from flwr.app import Array\nsetattr(Array, 'inflate', None)",
    "from flwr.app import Array as A\ndel A.inflate", "from flwr.serverapp import Grid\nclass Mine(Grid): pass",
    "from flwr.app import Message\nMessage._private()", "import_module('flwr.supernode.cli')",
])  # fmt: skip
def test_the_check_notices(source: str) -> None:
    tree = ast.parse(source)
    assert list(intrusions(tree, {local for _, _, local in flower_imports(tree)}))
