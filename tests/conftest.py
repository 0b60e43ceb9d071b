"""What the tests of the outer rooms share: a small labelled graph, its files, and the command in this process."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from fedwalk.cli import main
from fedwalk.graph import Graph, social_network
from fedwalk.graph.save import save_edge_list, save_labels

# The first call of a kernel compiles it, which no deadline foresees. In CI the same examples every time.
settings.register_profile("fedwalk", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("fedwalk")

SMALL = ("--walks", "3", "--walk-length", "12", "--dim", "8", "--threads", "1", "--seed", "5")
SETTINGS: dict[str, Any] = {"walks": 3, "walk_length": 12, "dim": 8, "threads": 1, "seed": 5}
"""The same as keyword arguments."""


@dataclass(frozen=True)
class Outcome:
    """What a command left behind: its exit code and what it printed."""

    code: int
    out: str
    err: str


Command = Callable[..., Outcome]


@pytest.fixture(scope="session")
def network() -> Graph:
    return social_network(vertices=60, mean_degree=6, communities=3, seed=1)


@pytest.fixture(scope="session")
def network_file(network: Graph, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("network") / "graph.edges"
    save_edge_list(network, path)
    return path


@pytest.fixture(scope="session")
def labels_file(network: Graph, network_file: Path) -> Path:
    path = network_file.with_name("labels.txt")
    save_labels(network, path)
    return path


@pytest.fixture
def fedwalk(capsys: pytest.CaptureFixture[str]) -> Command:
    """The command in this process; a usage error counts as the exit that it is."""

    def call(*arguments: object) -> Outcome:
        capsys.readouterr()
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as end:
            code = int(end.code or 0)
        printed = capsys.readouterr()
        return Outcome(code, printed.out, printed.err)

    return call
