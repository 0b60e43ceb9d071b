"""A whole federation on this machine, for trying out: its folders, from a graph that is cut into pieces."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fedwalk.errors import SettingsError
from fedwalk.federation.enrolment import admit_holder, enrol, found
from fedwalk.federation.folders import FederationFolder, FederationSettings, HolderFolder, HolderSettings
from fedwalk.federation.holder import PROTOCOLS, Terms
from fedwalk.federation.lists_file import lists_of, save_lists
from fedwalk.federation.passes import take_pass
from fedwalk.federation.private_file import make_private_folder
from fedwalk.federation.processes import free_port
from fedwalk.federation.service import holding, serving
from fedwalk.graph import Graph
from fedwalk.signals import undisturbed

LISTS, DAYS = "lists.adj", 30


@dataclass(frozen=True, slots=True)
class LocalFederation:
    """An operator's folder and its holders'."""

    server: FederationFolder
    holders: tuple[HolderFolder, ...]

    @contextmanager
    def up(self) -> Iterator[None]:
        """All of it running while the block does, and nothing of it after."""
        with ExitStack() as stack:
            try:
                stack.enter_context(serving(self.server))
                for holder in self.holders:
                    stack.enter_context(holding(holder))
                yield
            finally:
                with undisturbed():
                    stack.close()


def make_federation(path: Path, graph: Graph, holders: int, seed: int | None = None) -> LocalFederation:
    """Cut the graph into consecutive blocks of vertices, one for each holder, and admit all of them.

    With a seed the holders simulate: their noise is a function of it, as in `fedwalk embed`, and protects nothing.
    """
    if not 1 <= holders <= graph.vertices:
        raise SettingsError(f"holders = {holders}: must be from 1 to the graph's {graph.vertices} vertices.")
    address = f"127.0.0.1:{free_port()}"
    server = found(path / "server", FederationSettings("demo", address, address), DAYS)
    blocks = np.array_split(np.arange(graph.vertices), holders)
    made = [_make_holder(path, f"holder-{i}", graph, block.tolist(), seed, server) for i, block in enumerate(blocks)]
    return LocalFederation(server, tuple(made))


def _make_holder(
    path: Path, name: str, graph: Graph, block: list[int], seed: int | None, server: FederationFolder
) -> HolderFolder:
    folder = HolderFolder(path / name)
    make_private_folder(folder.path)
    save_lists(folder.path / LISTS, lists_of(graph, block))
    address = f"127.0.0.1:{free_port()}"
    settings = HolderSettings(name, address, address, LISTS, Terms(protocols=PROTOCOLS), seed)
    take_pass(folder, admit_holder(server, enrol(folder.path, settings), DAYS))
    return folder
