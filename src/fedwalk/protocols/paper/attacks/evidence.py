"""Makes the views of protocol `paper` by running its own runtimes: each view has what its observer receives."""

from dataclasses import dataclass, field, replace

import numpy as np

from fedwalk.attacks.canaries import Canaries, Guesses, as_guesses
from fedwalk.graph.graph import Graph
from fedwalk.graph.pairs import Pairs, among
from fedwalk.privacy.randomness import SimulatedRandomness
from fedwalk.protocols.base import AuditTarget
from fedwalk.protocols.messages import Message
from fedwalk.protocols.paper.attacks.guesses import match_rows
from fedwalk.protocols.paper.attacks.views import DeviceView, MatrixView, RelayView, SequenceView
from fedwalk.protocols.paper.dissimilarity import cross_dissimilarity
from fedwalk.protocols.paper.local import LocalRuntime
from fedwalk.protocols.paper.messages import GroupPlan, Start, Token, TreeTable
from fedwalk.protocols.paper.simulate import make_server
from fedwalk.protocols.paper.stages import BINS, ENCODER, TREE, VECTORS
from fedwalk.protocols.paper.stepwise import StepwiseRuntime
from fedwalk.protocols.settings import Settings
from fedwalk.protocols.transcript import Transcript
from fedwalk.protocols.walks import Walks
from fedwalk.util.parallel import Progress, silent

MAX_STEPS = 300_000
"""Walk entries that the network observer records: device by device, a step takes tens of microseconds."""


def matrix_view(graph: Graph, settings: Settings) -> MatrixView:
    """Algorithm 2 up to the matrices, on a graph without isolated vertices."""
    server = make_server(graph.vertices, settings)
    runtime = LocalRuntime(graph, server, settings, Transcript())
    vectors = runtime.vectors(server.group_plan(SimulatedRandomness(settings.seed)), silent)
    return MatrixView(vectors, runtime.matrices(vectors, silent))


def sequence_view(walks: Walks, vertices: int) -> SequenceView:
    """The walks as the server started and received them."""
    return SequenceView(np.arange(len(walks.sequences)) % vertices, walks.sequences)


def device_view(graph: Graph, view: MatrixView) -> DeviceView:
    """The view of a device of median degree."""
    attacker = int(np.argmax(graph.degrees == np.sort(graph.degrees)[graph.vertices // 2]))
    row = cross_dissimilarity(view.matrices, np.array([attacker]), np.arange(graph.vertices))[0]
    return DeviceView(view.matrices[attacker], view.vectors, row)


@dataclass(slots=True)
class Wiretap(Transcript):
    """A transcript that also records which device sent a walk to which, as the network that carries tokens can."""

    device_of_walk: dict[int, int] = field(default_factory=dict)
    contacts: list[tuple[int, int]] = field(default_factory=list)

    def record(self, message: Message) -> None:
        """Count one message; a token came from the device that was last sent the walk."""
        self.tally(type(message), 1, message.nbytes)
        if isinstance(message, Token):
            self.contacts.append((self.device_of_walk[message.walk], message.device))
        if isinstance(message, Start | Token):
            self.device_of_walk[message.walk] = message.device

    def pairs(self) -> Pairs:
        """Sender and receiver of every token."""
        return np.array(self.contacts, np.int64).reshape(-1, 2)


def recorded_settings(target: AuditTarget) -> Settings:
    """The walks that the network observer records: as many rounds, or entries of one round, as MAX_STEPS allows."""
    n, settings = target.graph.vertices, target.settings
    length = min(settings.walk_length, max(3, MAX_STEPS // n))
    return replace(settings, walk_length=length, num_walks=min(settings.num_walks, max(1, MAX_STEPS // (n * length))))


def relay_view(target: AuditTarget, on_progress: Progress = silent) -> RelayView:
    """Repeat some of the run's walks, device by device, and record the contacts."""
    settings, stages = recorded_settings(target), target.stages
    server = make_server(target.graph.vertices, settings)
    plan = GroupPlan(stages.get(BINS), server.k, server.epsilon)
    table = TreeTable(stages.get(TREE), stages.get(ENCODER), settings.predictor, settings.burst)
    tap = Wiretap()
    StepwiseRuntime(target.graph, server, settings, tap).walks(plan, stages.get(VECTORS), table, on_progress)
    return RelayView(tap.pairs())


def guess_canaries(canaries: Canaries, settings: Settings) -> Guesses:
    """Guess that a canary is an edge if a matrix row identifies it. Vertices that don't take part have no edges."""
    if canaries.graph.edges == 0:
        return as_guesses(np.zeros(len(canaries.pairs), bool))
    active, taking_part = canaries.graph.active()
    bins = min(settings.num_bins or 1, active.vertices)
    guesses = match_rows(matrix_view(active, replace(settings, num_bins=bins)))
    return as_guesses(among(canaries.pairs, taking_part[guesses]))
