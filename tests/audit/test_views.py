"""An attack reads only what its observer sees, and knows nothing of the true graph."""

import ast
from pathlib import Path
from typing import get_args

import pytest

from fedwalk import audit
from fedwalk.audit.views import View

PACKAGE = Path(audit.__file__).parents[1]
ATTACKS = ("rows", "dissimilarity", "sequences", "traffic", "lists", "embedding", "views", "pairs")
SEEN_AS = {"server": "server", "device": "every device", "network": "the network: who contacts whom"}


def imported(module: str) -> set[str]:
    """Every module of the package that a module imports, directly or through another."""
    found, waiting = set[str](), [module]
    while waiting:
        file = PACKAGE.joinpath(*waiting.pop().split(".")[1:])
        file = file / "__init__.py" if file.is_dir() else file.with_suffix(".py")
        if not file.exists():
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            new = {name for name in names if name.startswith("fedwalk.")} - found
            found |= new
            waiting += new
    return found


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_attack_knows_what_a_graph_is(attack: str) -> None:
    outside = ("fedwalk.graph", "fedwalk.pipeline", "fedwalk.runtime", "fedwalk.stages", "fedwalk.evaluation")
    assert not {name for name in imported(f"fedwalk.audit.{attack}") if name.startswith(outside)}


def test_those_who_score_attacks_do() -> None:
    assert "fedwalk.graph.graph" in imported("fedwalk.audit.scoring")


@pytest.mark.parametrize("view", get_args(View))
def test_a_view_is_made_of_messages_that_its_observer_sees(view: type[View]) -> None:
    for kind in view.messages:
        assert SEEN_AS[view.observer] in kind.observers


def test_only_the_papers_broadcast_and_the_vectors_come_from_elsewhere() -> None:
    beside = {view.__name__: view.beside for view in get_args(View) if view.beside}
    assert beside.keys() == {"DeviceView", "PublicView"}
