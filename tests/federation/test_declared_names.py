"""Names that are declared once: no other module of the federation repeats that of a phase, a file or a protocol.

All rules are read from the source.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from fedwalk import federation
from fedwalk.federation.apps.client_app import ANSWER_WITH
from fedwalk.federation.membership.folders import FederationFolder, FileIn, HolderFolder, LocalApiFolder
from fedwalk.federation.wire.questions import PHASES
from fedwalk.protocols.registry import OURS, federated_protocols

FOLDER = Path(federation.__file__).parent
MODULES = sorted(str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*.py"))
FILES = {
    vars(declared)["_name"]
    for folder in (FederationFolder, HolderFolder, LocalApiFolder)
    for declared in vars(folder).values()
    if isinstance(declared, FileIn)
}
FILES_DECLARED_IN = "membership/folders.py"
OTHER_MEANINGS = {
    # Fields of run.json's part about the federation.
    ("server/statistics.py", "walks"),
    # An array in embedding.npz.
    ("server/execute.py", "vectors"),
    # Fields of the walk question.
    ("walking/plan.py", "walks"),
    ("walking/plan.py", "vectors"),
    # A noun in a sentence.
    ("deploy/status.py", "walks"),
    # The name of an extra.
    ("flower_guards/hooks.py", "flower"),
    ("flower_guards/task_processes.py", "flower"),
    # A parameter of Flower's.
    ("flower_guards/hooks.py", "app"),
}


def literals(tree: ast.AST) -> Iterator[str]:
    return (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))


def repeated(module: str) -> set[str]:
    """The declared names that a module repeats."""
    known = set(PHASES) | set(OURS) | (set() if module == FILES_DECLARED_IN else FILES)
    names = known.intersection(literals(ast.parse((FOLDER / module).read_text(encoding="utf-8"))))
    return {name for name in names if (module, name) not in OTHER_MEANINGS}


@pytest.mark.parametrize("module", MODULES)
def test_no_module_repeats_a_declared_name(module: str) -> None:
    assert repeated(module) == set()


def test_the_names_are_known_and_a_repeated_one_would_be_found() -> None:
    assert set(PHASES) == {"roll", "reports", "vectors", "matrices", "walks"}
    assert {"authority.pem", "authority.key", "server.pem", "server.key"} <= FILES
    assert {"holder.pem", "holder.key", "node.key", "pass.json"} <= FILES
    assert "walks" in literals(ast.parse('if phase == "walks": pass'))


def test_every_phase_has_an_answer_and_belongs_to_a_protocol() -> None:
    assert {phase.question for phase in PHASES.values()} == ANSWER_WITH.keys()
    after_the_roll_call = [name for known in federated_protocols().values() for name in known.phases]
    assert sorted(PHASES) == sorted(["roll", *after_the_roll_call])
