"""Making the views: the protocol's own runtime runs, and each observer gets what was sent past it."""

from dataclasses import dataclass, field, replace

import numpy as np

from fedwalk.audit.pairs import Pairs
from fedwalk.audit.views import DeviceView, ListView, MatrixView, PublicView, RelayView, SequenceView
from fedwalk.graph import Graph
from fedwalk.kernels.threads import Report, silent
from fedwalk.pipeline import Run
from fedwalk.protocol.dissimilarity import cross_dissimilarity
from fedwalk.protocol.messages import GroupPlan, ListPlan, Message, Start, Token, TreeTable
from fedwalk.protocol.randomness import SimulatedRandomness
from fedwalk.protocol.server import Server
from fedwalk.protocol.transcript import Transcript
from fedwalk.runtime.local import LocalRuntime
from fedwalk.runtime.stepwise import StepwiseRuntime
from fedwalk.settings import Settings

MOST_STEPS = 300_000
"""Walk entries that the relay listens to: device by device, a step takes tens of microseconds."""


def matrix_view(graph: Graph, settings: Settings) -> MatrixView:
    """Algorithm 2 up to the matrices, on a graph without isolated vertices."""
    server = Server(graph.vertices, settings.bins or 1, settings.epsilon)
    runtime = LocalRuntime(graph, server, settings, Transcript())
    vectors = runtime.vectors(server.group_plan(SimulatedRandomness(settings.seed)), silent)
    return MatrixView(vectors, runtime.matrices(vectors, silent))


def list_view(graph: Graph, settings: Settings) -> ListView:
    """Every device's list."""
    plan = ListPlan(graph.vertices, settings.epsilon)
    server = Server(graph.vertices, settings.bins or 1, settings.epsilon)
    return ListView(plan, LocalRuntime(graph, server, settings, Transcript()).lists(plan, silent))


def sequence_view(run: Run) -> SequenceView:
    """The walks as the server started and received them."""
    sequences = run.walks.sequences
    return SequenceView(np.arange(len(sequences)) % run.taking_part.size, sequences)


def device_view(graph: Graph, view: MatrixView) -> DeviceView:
    """A device of middling degree plays the attacker."""
    attacker = int(np.argmax(graph.degrees == np.sort(graph.degrees)[graph.vertices // 2]))
    row = cross_dissimilarity(view.matrices, np.array([attacker]), np.arange(graph.vertices))[0]
    return DeviceView(view.matrices[attacker], view.vectors, row)


def public_view(run: Run) -> PublicView:
    """The vectors of those who took part."""
    return PublicView(run.embedding.vectors[run.taking_part])


@dataclass(slots=True)
class Wiretap(Transcript):
    """A transcript that also notes who handed a walk to whom, as whoever carries the tokens can."""

    holders: dict[int, int] = field(default_factory=dict)
    contacts: list[tuple[int, int]] = field(default_factory=list)

    def record(self, message: Message) -> None:
        """Count one message; a token came from the device that was last sent the walk."""
        self.tally(type(message), 1, message.nbytes)
        if isinstance(message, Token):
            self.contacts.append((self.holders[message.walk], message.device))
        if isinstance(message, Start | Token):
            self.holders[message.walk] = message.device

    def pairs(self) -> Pairs:
        """Sender and receiver of every token."""
        return np.array(self.contacts, np.int64).reshape(-1, 2)


def heard(run: Run) -> Settings:
    """The walks that the relay listens to: as many rounds, or entries of one round, as MOST_STEPS allows."""
    n, settings = run.taking_part.size, run.settings
    length = min(settings.walk_length, max(3, MOST_STEPS // n))
    return replace(settings, walk_length=length, walks=min(settings.walks, max(1, MOST_STEPS // (n * length))))


def relay_view(graph: Graph, run: Run, report: Report = silent) -> RelayView:
    """Some of the run's walks once more, device by device; where devices send each other nothing, nothing is seen."""
    if run.settings.protocol != "paper":
        return RelayView(np.empty((0, 2), np.int64))
    settings, stages = heard(run), run.stages
    server = Server(graph.vertices, settings.bins or 1, settings.epsilon)
    plan, vectors = GroupPlan(stages.get("bins"), server.k, server.epsilon), stages.get("vectors")
    table = TreeTable(stages.get("tree"), stages.get("encoder"), settings.predictor, settings.burst)
    tap = Wiretap()
    StepwiseRuntime(graph, server, settings, tap).walks(plan, vectors, table, report)
    return RelayView(tap.pairs())
