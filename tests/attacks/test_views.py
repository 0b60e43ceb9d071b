"""An attack reads only what its observer sees, and knows nothing of the true graph."""

import ast
from pathlib import Path

import pytest

from fedwalk import audit
from fedwalk.attacks.finding import View
from fedwalk.attacks.vectors import PublicView
from fedwalk.protocols.ldp.attacks.guesses import NetworkView, ReportView
from fedwalk.protocols.paper.attacks.views import DeviceView, MatrixView, RelayView, SequenceView

PACKAGE = Path(audit.__file__).parents[1]
ATTACKS = ("paper.attacks.guesses", "paper.attacks.views", "ldp.attacks.guesses")
VIEWS: list[type[View]] = [MatrixView, SequenceView, DeviceView, RelayView, ReportView, NetworkView, PublicView]
PAIRS = "fedwalk.graph.pairs"
SEEN_AS = {"server": "server", "device": "every device", "network": "the network: which device contacts which"}


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
    outside = ("fedwalk.graph", "fedwalk.run", "fedwalk.evaluation", "fedwalk.protocols.base")
    assert not {name for name in imported(f"fedwalk.protocols.{attack}") if name.startswith(outside)} - {PAIRS}


def test_pairs_of_vertices_know_no_graph_either() -> None:
    assert imported(PAIRS) == set()


def test_the_modules_that_score_attacks_know_the_graph() -> None:
    assert "fedwalk.graph.graph" in imported("fedwalk.attacks.scoring")


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_is_made_of_messages_that_its_observer_sees(view: type[View]) -> None:
    for kind in view.messages:
        assert SEEN_AS[view.observer] in kind.observers


def test_only_broadcasts_contacts_and_vectors_come_from_elsewhere() -> None:
    beside = {view.__name__: view.beside for view in VIEWS if view.beside}
    assert beside.keys() == {"DeviceView", "NetworkView", "PublicView"}
