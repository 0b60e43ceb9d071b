"""Protocol `ldp` in one process: devices report their owned pairs, the server decodes the reports and embeds them.

`local` computes all devices' reports at once over arrays; `stepwise` has device objects and messages, one at a time.
For the same seed they give the same reports, bit for bit, and the same transcript.
"""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from fedwalk.graph.graph import Graph
from fedwalk.kernels.ldp.randomised_response import simulated_reports
from fedwalk.kernels.ldp.weighted_walk import alias_rows, weighted_walks
from fedwalk.privacy.ledger import Ledger
from fedwalk.privacy.randomness import SimulatedRandomness
from fedwalk.protocols.embed import embed_weighted, train_walks, walk_alone
from fedwalk.protocols.ldp.device import ReportDevice
from fedwalk.protocols.ldp.edge_posterior import WeightedGraph, decode
from fedwalk.protocols.ldp.mechanism import RandomisedResponse
from fedwalk.protocols.ldp.messages import Report, ReportPlan
from fedwalk.protocols.ldp.posterior_power import choose_power
from fedwalk.protocols.ldp.reports import Reports, collect_reports
from fedwalk.protocols.ldp.stages import POSTERIOR, POSTERIOR_POWER, REPORTS
from fedwalk.protocols.settings import Settings
from fedwalk.protocols.stages import SKIPGRAM, SPECTRAL, WALKS, Stages, Vectors
from fedwalk.protocols.transcript import Transcript
from fedwalk.protocols.walks import Walks
from fedwalk.util.parallel import Progress, ranges, run_tasks

DEVICES_PER_TASK = 512
"""Enough to hide a task's overhead, few enough for smooth progress and an even load."""


def simulate(graph: Graph, settings: Settings, stages: Stages) -> Vectors:
    """Every stage of a run on this graph."""
    plan = ReportPlan(graph.vertices, settings.epsilon)
    ask = partial(RUNTIMES[settings.runtime], graph, settings, plan, stages.transcript)
    return decode_and_embed(stages.run(REPORTS, ask), settings, stages)


def report_locally(
    graph: Graph, settings: Settings, plan: ReportPlan, transcript: Transcript, on_progress: Progress
) -> Reports:
    """Every device's randomised response at once, a few hundred devices to a task."""
    n = graph.vertices
    coins = RandomisedResponse.of(plan.epsilon).coins(n)
    kernel = partial(simulated_reports, coins, np.uint64(plan.key), graph.indptr, graph.indices, settings.seed)
    tasks = [partial(kernel, a, b, plan.epoch) for a, b in ranges(n, -(-n // DEVICES_PER_TASK))]
    pieces = run_tasks(tasks, settings.threads or 1, on_progress)
    starts = np.concatenate([[0], np.cumsum(np.concatenate([lengths for lengths, _ in pieces]))])
    ids = np.concatenate([ids for _, ids in pieces])
    transcript.tally(ReportPlan, n, n * ReportPlan.size())
    transcript.tally(Report, n, n * Report.size(0) + 4 * ids.size)
    return Reports(starts, ids)


def report_stepwise(
    graph: Graph, settings: Settings, plan: ReportPlan, transcript: Transcript, on_progress: Progress
) -> Reports:
    """The plan to each device, its report back to the server; each device keeps its own ledger."""
    randomness = SimulatedRandomness(settings.seed)
    # A copy of its own row is all that a device gets: it can't reach its neighbours' rows.
    devices = [
        ReportDevice(v, graph.neighbours(v).copy(), randomness, Ledger(settings.budget)) for v in range(graph.vertices)
    ]

    def messages() -> Iterator[Report]:
        for device in devices:
            transcript.record(plan)
            message = device.report(plan)
            transcript.record(message)
            on_progress(device.identity + 1, len(devices))
            yield message

    return collect_reports(plan, messages())


RUNTIMES: dict[str, Callable[[Graph, Settings, ReportPlan, Transcript, Progress], Reports]] = {
    "local": report_locally,
    "stepwise": report_stepwise,
}


def decode_and_embed(reports: Reports, settings: Settings, stages: Stages) -> Vectors:
    """Decode the reports and embed the decoded graph. The server does this alone, at no privacy cost (PROOFS.md, 4)."""
    mechanism, threads = RandomisedResponse.of(settings.epsilon), settings.threads or 1
    graph = stages.run(POSTERIOR, lambda on_progress: decode(reports, mechanism, settings.seed, threads, on_progress))
    if settings.embed == SPECTRAL.name:
        power = stages.run(POSTERIOR_POWER, partial(_choose_power, graph, settings))
        # A power below 1 flattens the posteriors, which helps where the prior doesn't fit (posterior_power.py).
        weights = graph.weights**power
        return stages.run(SPECTRAL, partial(embed_weighted, graph.indptr, graph.indices, weights, settings))
    walks = stages.run(WALKS, partial(_walk, graph, settings))
    return stages.run(SKIPGRAM, partial(train_walks, walks, graph.vertices, settings))


def _choose_power(graph: WeightedGraph, settings: Settings, on_progress: Progress) -> float:
    return choose_power(graph, dim=settings.dim, seed=settings.seed, on_progress=on_progress)


def _walk(graph: WeightedGraph, settings: Settings, on_progress: Progress) -> Walks:
    """Walks over the decoded graph, by the server alone."""
    rows = alias_rows(graph.indptr, graph.indices, graph.weights)
    return walk_alone(graph.vertices, settings, on_progress, lambda: partial(weighted_walks, rows, settings.seed))
