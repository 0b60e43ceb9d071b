"""Makes a whole federation on this machine, to try it out: a graph is split among holders."""

import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fedwalk.errors import FedWalkWarning, SettingsError
from fedwalk.federation.deploy.ports import free_port
from fedwalk.federation.deploy.services import running_holder, running_server
from fedwalk.federation.holder.neighbour_file import neighbours_of, save_neighbours
from fedwalk.federation.holder.terms import Terms
from fedwalk.federation.membership.admission import admit_holder, create_federation, enrol
from fedwalk.federation.membership.folders import FederationFolder, FederationSettings, HolderFolder, HolderSettings
from fedwalk.federation.membership.passes import take_pass
from fedwalk.graph import Graph
from fedwalk.protocols.registry import federated_protocols
from fedwalk.util.files import make_private_folder
from fedwalk.util.signals import undisturbed

NEIGHBOURS, DAYS = "neighbours.adj", 30


@dataclass(frozen=True, slots=True)
class LocalFederation:
    """The folders of an operator and of all holders."""

    server: FederationFolder
    holders: tuple[HolderFolder, ...]

    @contextmanager
    def up(self) -> Iterator[None]:
        """Run the server and all holders during the block, and stop them after it."""
        # Closed in reverse order: the holders end before their server.
        with ExitStack() as stack:
            try:
                stack.enter_context(running_server(self.server))
                for holder in self.holders:
                    stack.enter_context(running_holder(holder))
                yield
            finally:
                # A second Ctrl-C must not leave processes behind.
                with undisturbed():
                    stack.close()


def make_federation(path: Path, graph: Graph, holders: int, seed: int | None = None) -> LocalFederation:
    """Split the graph into consecutive blocks of vertices, make a holder of each block, and admit all of them.

    With a seed the holders simulate: their noise is a function of it, as in `fedwalk embed`, and protects nothing.
    """
    check_num_holders(holders, graph)
    if graph.weights is not None:
        text = "the graph's edges have weights, which neighbour files don't hold: the federation ignores them."
        warnings.warn(text, FedWalkWarning, stacklevel=2)
    address = f"127.0.0.1:{free_port()}"
    # It listens on the loopback interface only, so the demo can't be reached from other machines.
    server = create_federation(path / "server", FederationSettings("demo", address, address), DAYS)
    blocks = np.array_split(np.arange(graph.vertices), holders)
    made = [_make_holder(path, f"holder-{i}", graph, block.tolist(), seed, server) for i, block in enumerate(blocks)]
    return LocalFederation(server, tuple(made))


def check_num_holders(holders: int, graph: Graph) -> None:
    """Refuse a number of holders among which the graph can't be split."""
    if not 1 <= holders <= graph.vertices:
        raise SettingsError(f"holders = {holders}: must be from 1 to the graph's {graph.vertices} vertices.")


def _make_holder(
    path: Path, name: str, graph: Graph, block: list[int], seed: int | None, server: FederationFolder
) -> HolderFolder:
    folder = HolderFolder(path / name)
    make_private_folder(folder.path)
    save_neighbours(folder.path / NEIGHBOURS, neighbours_of(graph, block))
    address = f"127.0.0.1:{free_port()}"
    settings = HolderSettings(name, address, address, NEIGHBOURS, Terms(protocols=tuple(federated_protocols())), seed)
    take_pass(folder, admit_holder(server, enrol(folder.path, settings), DAYS))
    return folder
