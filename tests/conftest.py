"""What all tests share: time limits, no process left behind, a small labelled graph, and `fedwalk` in this process."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadFileScheduling

from fedwalk.cli import main
from fedwalk.graph import Graph, social_network
from fedwalk.graph.save import save_edge_list, save_labels
from fedwalk.util.signals import interruptible
from helpers.process_guard import GuardedRun, guard_run, strays
from helpers.time_limits import TimeLimits

# Waiting threads of OpenMP (in scikit-learn's t-SNE) keep a core busy, which the processes that tests start need.
# The variable is read when scikit-learn is imported, which is later.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# The first call of a kernel compiles it, which no deadline foresees. In CI the same examples every time.
settings.register_profile("fedwalk", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("fedwalk")

SMALL = ("--num-walks", "3", "--walk-length", "12", "--dim", "8", "--threads", "1", "--seed", "5")
SETTINGS: dict[str, Any] = {"num_walks": 3, "walk_length": 12, "dim": 8, "threads": 1, "seed": 5}
"""The same as keyword arguments."""

# Files that take long come first, so that no worker is left alone with one of them at the end. Those up to
# test_local_attacks have slow tests.
LONG_FILES = [
    f"test_{name}.py"
    for name in (
        "faults", "losses", "ten_runs", "hostile_holders", "flower", "federation", "blogcatalog", "local_attacks",
        "session", "listening", "walk_phase", "federate", "signals", "in_browser", "protocol_package", "hostile_peers",
        "engine", "execute", "reproduce", "encoder", "fleet_client", "answer_store", "peer_port", "process_guard",
    )
]  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    """Register time limits as a plugin: hooks of this file alone wouldn't count for the doctests in src."""
    config.pluginmanager.register(TimeLimits())


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling:
    """With `-n`, give whole files to the workers: a module's fixtures can be a federation or a browser."""
    # By default the files with most tests come first, which are not the files that take longest.
    config.option.loadscopereorder = False
    return LoadFileScheduling(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run long files first, so that no worker is left alone with one of them at the end."""
    items.sort(key=lambda item: LONG_FILES.index(item.path.name) if item.path.name in LONG_FILES else len(LONG_FILES))


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say which tests are left out, and how to run them."""
    left_out = config.getoption("markexpr") == "not slow"
    return "slow tests are left out; to run them: python -m pytest -m slow" if left_out else None


@pytest.fixture(scope="session", autouse=True)
def guarded_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedRun]:
    """This run of the tests, of which no process is left at its end: SIGTERM ends it as Ctrl-C does."""
    with interruptible(), guard_run(tmp_path_factory.getbasetemp()) as run:
        yield run


@pytest.fixture(scope="session", autouse=True)
def _kernels_are_compiled(request: pytest.FixtureRequest) -> None:
    # Not at the top: the helper needs this file.
    from helpers.kernel_warmup import compile_share

    compile_share(len(request.session.items))


@pytest.fixture(scope="module", autouse=True)
def _no_process_outlives_its_module(guarded_run: GuardedRun) -> Iterator[None]:
    known = frozenset(process.pid for process in guarded_run.processes())
    yield
    if left := strays(guarded_run, known):
        pytest.fail("These processes of this module's tests had to be killed:\n" + "\n".join(left))


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
    """Run `fedwalk` in this process; a usage error becomes the exit code that the command would have."""

    def call(*arguments: object) -> Outcome:
        capsys.readouterr()
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as end:
            code = int(end.code or 0)
        printed = capsys.readouterr()
        return Outcome(code, printed.out, printed.err)

    return call
