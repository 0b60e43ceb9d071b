"""Walk questions for the holders of a graph, and the walks of runtime `local` to compare with."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fedwalk.federation.holder.neighbour_lists import OwnNeighbours
from fedwalk.federation.walking.plan import session_digest
from fedwalk.federation.wire.questions import WalksQuestion
from fedwalk.graph import Graph
from fedwalk.protocols.paper.local import LocalRuntime
from fedwalk.protocols.paper.messages import Token, TreeTable
from fedwalk.protocols.transcript import Transcript
from fedwalk.settings import Settings
from fedwalk.util.parallel import silent
from helpers.simulation import Federation, federation

KEY = "00112233445566778899aabbccddeeff"
SESSIONS = tuple(f"{i:032x}" for i in range(16))
"""The session of each holder, by index."""
HOLDERS = ["ada", "ben", "cleo", "dan"]
SMALL = Settings(num_walks=3, walk_length=13, threads=1)


@dataclass(frozen=True)
class LocalAnswer:
    """The result of runtime `local` with the same seed."""

    sequences: NDArray[np.int32]
    hops: int
    carried: int


def random_owners(graph: Graph, holders: int, seed: int = 0) -> NDArray[np.int32]:
    """A random owner for every vertex. With enough vertices, every holder has one."""
    owner = np.arange(graph.vertices, dtype=np.int32) % np.int32(holders)
    return np.random.default_rng(seed).permutation(owner)


def own_neighbours(graph: Graph, owner: NDArray[np.int32], me: int) -> OwnNeighbours:
    """The neighbours of the vertices that `me` owns."""
    devices = np.flatnonzero(owner == me).astype(np.int32)
    parts = [graph.neighbours(int(v)) for v in devices]
    indptr = np.concatenate([[0], np.cumsum([part.size for part in parts], dtype=np.int64)])
    return OwnNeighbours(devices, indptr.astype(np.int64), np.concatenate([np.empty(0, np.int32), *parts]))


def walk_question(
    graph: Graph,
    settings: Settings,
    owner: NDArray[np.int32],
    holders: Sequence[str],
    addresses: Sequence[str],
    me: int,
    patience: float = 10.0,
    alive: NDArray[np.bool_] | None = None,
) -> WalksQuestion:
    """The question to holder `me`. `alive` has a flag per vertex. The graph must have no isolated vertex."""
    made, table = stages(graph, settings)
    encoder, n = table.encoder.arrays, graph.vertices
    living = np.ones(n, np.bool_) if alive is None else alive
    walks = np.arange(n * settings.num_walks)
    return WalksQuestion(
        run="test", key=KEY, session=SESSIONS[me], sessions=[session_digest(one) for one in SESSIONS[: len(holders)]],
        predictor=settings.predictor, burst=settings.burst, length=settings.walk_length,
        count=walks.size, epsilon=settings.epsilon, predict=settings.predict, patience=patience,
        holders=list(holders), addresses=list(addresses), participants=np.arange(n, dtype=np.int32),
        owner=owner.astype(np.int32), alive=living, walks=walks[(owner == me)[walks % n] & living[walks % n]],
        bins=made.plan.bins, vectors=made.vectors, joins=made.tree.linkage[:, :2].astype(np.int32),
        encoder_starts=encoder.starts, encoder_outputs=encoder.outputs, encoder_cumulative=encoder.cumulative,
        encoder_kin=encoder.kin, encoder_kin_starts=encoder.kin_starts, encoder_kin_members=encoder.kin_members,
        encoder_certain=encoder.certain,
    )  # fmt: skip


def small_question(
    graph: Graph, owner: NDArray[np.int32], me: int, settings: Settings = SMALL, alive: NDArray[np.bool_] | None = None
) -> WalksQuestion:
    """The question to one of the four HOLDERS, for tests that don't use the addresses."""
    return walk_question(graph, settings, owner, HOLDERS, [f"{name}:1" for name in HOLDERS], me, alive=alive)


def local_answer(graph: Graph, settings: Settings) -> LocalAnswer:
    """The walks of runtime `local`, and its counts of tokens."""
    made, table = stages(graph, settings)
    transcript = Transcript()
    walks = LocalRuntime(graph, made.server, made.settings, transcript).walks(made.plan, made.vectors, table, silent)
    hops = transcript.traffic["hops"]
    return LocalAnswer(walks.sequences, hops.count, (hops.bytes - hops.count * Token.size(0)) // 4)


@lru_cache(maxsize=8)
def stages(graph: Graph, settings: Settings) -> tuple[Federation, TreeTable]:
    """The results of all stages before the walks."""
    assert graph.isolated == 0
    made = federation(graph, **{**settings.as_dict(), "threads": 1})
    encoder = made.server.encoder_table(made.matrices, made.tree, made.settings.encoder)
    return made, TreeTable(made.tree, encoder, made.settings.predictor, made.settings.burst)
