"""Protocol `paper` as a value, which the rest of fedwalk reads.

It claims little: the paper's ε is nominal, and several messages have no privacy bound (docs/fidelity.md).
"""

import math
from collections.abc import Iterator
from dataclasses import replace

from fedwalk.errors import SettingsError
from fedwalk.graph.graph import Graph
from fedwalk.privacy.ledger import Release
from fedwalk.privacy.mechanisms import NoisedCounts, Unprotected
from fedwalk.privacy.randomness import SimulatedRandomness
from fedwalk.protocols.base import PrivacyStatement, Protocol, SeenDegrees
from fedwalk.protocols.federated import Federated
from fedwalk.protocols.paper.attacks.findings import ATTACKS
from fedwalk.protocols.paper.degree_vectors import estimated_degrees
from fedwalk.protocols.paper.federated import run
from fedwalk.protocols.paper.group_plan import check_bins, default_bins
from fedwalk.protocols.paper.local import LocalRuntime
from fedwalk.protocols.paper.messages import KINDS, DegreeMatrix, DegreeVector, Sequence, Token, TreeTable
from fedwalk.protocols.paper.predictors import find_predictor
from fedwalk.protocols.paper.simulate import RUNTIMES, make_server, simulate
from fedwalk.protocols.paper.stages import BINS, MATRICES, STAGES, TREE, VECTORS
from fedwalk.protocols.paper.walks import expected_hops
from fedwalk.protocols.settings import Settings
from fedwalk.protocols.stages import WALKS
from fedwalk.protocols.transcript import Transcript
from fedwalk.util.parallel import silent
from fedwalk.util.text import counted

RELEASE_SETTINGS = ("num_bins", "walk_length", "num_walks", "predict", "predictor", "burst", "tree", "encoder")


def check(settings: Settings) -> None:
    """Raise SettingsError if walks are too short for the predictor."""
    if settings.predict > 0 and settings.walk_length < 3:
        raise SettingsError(
            f"walk-length = {settings.walk_length} with predict = {settings.predict}: the predictor needs walks of "
            "at least 3 entries. Use a longer walk, or predict = 0."
        )


def resolve(settings: Settings, vertices: int) -> Settings:
    """Decide the number of bins."""
    bins = default_bins(vertices) if settings.num_bins is None else settings.num_bins
    check_bins(bins, vertices)
    return replace(settings, num_bins=bins)


def notes(settings: Settings, vertices: int) -> Iterator[str]:
    """Say so if there are more bins than in the paper."""
    largest = max(1.0, math.log(vertices))
    if (settings.num_bins or 1) > largest:
        yield f"num-bins = {settings.num_bins} is more than ln n = {largest:.1f}, the largest that the paper uses."


def releases(settings: Settings) -> Iterator[tuple[str, Release]]:
    """One release with a nominal ε, and several without any bound."""
    both = "a nominal epsilon; both ends of an edge count it"
    yield DegreeVector.phase, Release.of(NoisedCounts(settings.epsilon), "degree vector", both, ends=2)
    device, entries = "each device", settings.num_walks * settings.walk_length
    rows = "its rows are the neighbours' broadcast vectors, and name them"
    contacts = "which device contacts which is the edge set, to the network that carries the tokens"
    for kind, what, by, times, why in (
        (DegreeMatrix, "degree matrix", device, 1, rows),
        (TreeTable, "tree and encoder table", "the server", 1, "computed from the degree matrices"),
        (Sequence, "encoded entry", device, entries, "the encoder's score has no sensitivity bound"),
        (Token, "hop", device, entries, contacts),
    ):
        yield kind.phase, Release.of(Unprotected(why), what, why, by=by, times=times, ends=2)


def privacy(settings: Settings, simulated: bool) -> PrivacyStatement:
    """Nothing is proved about the protocol as a whole."""
    verdict = (
        "unbounded: the degree matrices name every neighbour to the server, and nothing bounds what the encoder and "
        "the walks' paths add. The nominal epsilon is the scale of the noise, not a guarantee."
    )
    nominal = (
        f"ε = {settings.epsilon:g} sets the Laplace noise in each degree vector (scale 1/ε) and the encoder. For "
        "the protocol as a whole, ε bounds nothing.",
        "A degree vector alone, in exact arithmetic, would be ε-differentially private for one entry of "
        "one neighbour list.",
    )
    return PrivacyStatement(
        verdict,
        nominal_epsilon=settings.epsilon,
        nominal=nominal,
        proved=("Nothing about the protocol as a whole.",),
        leaks=tuple(_leaks(settings, simulated)),
    )


def _leaks(settings: Settings, simulated: bool) -> Iterator[str]:
    yield (
        "Every edge, to the server: the rows of a degree matrix are vectors that the server itself broadcast, each of "
        "them unique. Looking them up names all the neighbours of the device."
    )
    yield "Every exact degree, to the server: a degree matrix has one row per neighbour."
    yield (
        "Dissimilarities, to every device: they are computed from those matrices, so the tree and the encoder's table "
        "depend on every device's neighbour list."
    )
    encoder = (
        "as it is: this run's encoder changes nothing"
        if settings.encoder == "identity"
        else "encoded, but the encoder mostly returns what it was given"
    )
    yield (
        f"Edges once more, to the server: a walk's first entry is a neighbour of the device it started at, {encoder}. "
        f"Each device starts {counted(settings.num_walks, 'walk', 'walks')}, and nothing adds up what they cost."
    )
    yield "Edges, to the network that carries the tokens: which device contacts which."
    if simulated:
        yield (
            f"This is a simulation: all noise comes from the seed {settings.seed}, so a party that knows the seed can "
            "remove it."
        )


def count_hops(settings: Settings) -> float:
    """The expected hops of a walk (Theorem 2, corrected)."""
    min_remaining = find_predictor(settings.predictor).min_remaining
    return expected_hops(settings.walk_length, settings.predict, settings.burst, min_remaining)


def seen_degrees(graph: Graph, settings: Settings) -> SeenDegrees:
    """Σ c_v of every vertex that took part, with the noise of the run itself."""
    bins, epsilon = settings.num_bins or 1, settings.epsilon
    server = make_server(graph.vertices, settings)
    runtime = LocalRuntime(graph, server, settings, Transcript())
    vectors = runtime.vectors(server.group_plan(SimulatedRandomness(settings.seed)), silent)
    degrees = estimated_degrees(vectors)
    moved = (degrees - graph.degrees).std()
    text = (
        f"The noise in the {counted(bins, 'bin', 'bins')} moves a degree by {moved:.2f} (standard deviation; "
        f"√(2k)/ε says {math.sqrt(2 * bins) / epsilon:.2f})."
    )
    return SeenDegrees("noised", degrees, text)


PROTOCOL = Protocol(
    name="paper",
    title="FedWalk, as in the paper",
    summary="FedWalk as published; its epsilon is nominal, its privacy loss unbounded",
    reads=("epsilon", "budget", "num_bins", "walk_length", "num_walks", "predict", "predictor", "burst", "tree",
           "encoder", "dim", "window", "negative", "seed", "threads", "runtime", "embed"),
    stages=STAGES,
    releases=releases,
    release_settings=RELEASE_SETTINGS,
    privacy=privacy,
    simulate=simulate,
    check=check,
    resolve=resolve,
    notes=notes,
    runtimes=tuple(RUNTIMES),
    uses_weights=True,
    accepts=(BINS, VECTORS, TREE, WALKS),
    tree=TREE,
    messages=KINDS,
    attacks=ATTACKS,
    expected_hops=count_hops,
    seen_degrees=seen_degrees,
    federated=Federated(
        phases=(VECTORS.name, MATRICES.name, WALKS.name),
        run=run,
        devices_meet=True,
        unbounded="its degree matrices, hops and encoded entries have no privacy bound",
        usual_epsilon=2.0,
    ),
)  # fmt: skip
