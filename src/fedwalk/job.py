"""Embedding a graph into a run folder: what `fedwalk embed` and `fedwalk demo` do once they know what to do."""

import json
import time
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fedwalk import __version__
from fedwalk.errors import RunFolderError
from fedwalk.graph import Graph
from fedwalk.ledger_file import check_ledger_path, read_ledger, update_ledger
from fedwalk.pipeline import Run, check_graph, enter_releases, participants, run
from fedwalk.protocol.predictor import find_predictor
from fedwalk.protocol.walk import expected_hops
from fedwalk.run_folder import RunFolder, open_run_folder, read_record, write_arrays, write_text
from fedwalk.settings import Settings
from fedwalk.stages import Progress, Stages, peak_rss_bytes

PRIVACY = {
    "paper": "unbounded: the degree matrices name every neighbour to the server, and nothing bounds what the "
    "encoder and the walks' paths add. The nominal epsilon is the scale of the noise, not a guarantee.",
    "deepwalk": "none: the whole graph is in one place.",
    "ldp": "local differential privacy for every edge with ε = {epsilon:g}, proved: whether an edge exists changes the "
    "probability of all that leaves the devices in the run by a factor of e^{epsilon:g} at most.",
}
"""What may be said of a run, by protocol."""
SIMULATED = {
    "ldp": " This run is a simulation: its noise comes from the seed, and protects nothing from whoever knows that.",
}
"""What must be added if devices were simulated."""


def embed_to_folder(
    graph: Graph,
    settings: Settings,
    path: Path,
    *,
    force: bool = False,
    resume: bool = False,
    keep_walks: bool = False,
    progress: Progress | None = None,
    load_seconds: float = 0.0,
    inputs: dict[str, str | None] | None = None,
    ledger: Path | None = None,
) -> dict[str, Any]:
    """Run the protocol, keep every finished stage, write the results; returns what `run.json` holds.

    `ledger` is a file with what the same devices released before; this run is added to it before it sends anything.
    """
    began = time.perf_counter()
    check_graph(graph)
    settings = settings.resolve(participants(graph, settings)[0].vertices)
    done = resume and (path / "run.json").exists()
    # What was sent can't be refused any more, only be entered.
    enter = partial(enter_releases, graph, replace(settings, budget=None) if done else settings)
    check_ledger_path(ledger, path)
    earlier = read_ledger(ledger) if ledger else None
    enter(earlier)
    broken_off = open_run_folder(path, force=force, resume=resume)
    folder = RunFolder(path, graph.fingerprint())
    if done:
        record = report_finished(folder, settings)
    elif broken_off:
        folder.check_resumable(settings)
    else:
        folder.begin(settings, inputs)
    if ledger:
        update_ledger(ledger, enter)
    if done:
        return record
    stages = Stages(store=folder, progress=progress)
    seconds_before = sum(stages.seconds().values())
    finished = run(graph, settings, stages, earlier)
    write_results(graph, finished, path, keep_walks)
    seconds = {"load": load_seconds, **stages.seconds()}
    seconds["total"] = load_seconds + seconds_before + time.perf_counter() - began
    record = describe(graph, finished, seconds, inputs or {})
    write_text(path / "run.json", json.dumps(record, indent=2, ensure_ascii=False) + "\n")
    folder.drop_progress()
    return record


def report_finished(folder: RunFolder, settings: Settings) -> dict[str, Any]:
    """The record of the finished run in the folder, if it is the run that was asked for."""
    record = read_run(folder.path)
    folder.check_same(record["graph"].get("fingerprint"), Settings.from_mapping(record["settings"]), settings)
    folder.drop_progress()
    return record


def write_results(graph: Graph, finished: Run, path: Path, keep_walks: bool) -> None:
    """The embedding, the tree with its leaves' names, and the walks if they are wanted, as rows of the embedding."""
    embedding = finished.embedding
    origin = np.array("simulation")
    arrays = {"nodes": embedding.nodes, "vectors": embedding.vectors, "origin": origin}
    write_arrays(path / "embedding.npz", arrays)
    if finished.stages.has("tree"):
        tree = finished.stages.get("tree")
        write_arrays(path / "tree.npz", {"linkage": tree.linkage, "nodes": graph.names[finished.taking_part]})
    sequences = finished.walks.sequences
    if keep_walks and len(sequences):
        rows = sequences if not graph.isolated else finished.taking_part.astype(np.int32)[sequences]
        write_arrays(path / "walks.npy", rows)


def describe(graph: Graph, finished: Run, seconds: dict[str, float], inputs: dict[str, str | None]) -> dict[str, Any]:
    """The record of a run, as `run.json` holds it."""
    settings, walks = finished.settings, finished.walks
    paper = settings.protocol == "paper"
    return {
        "fedwalk": __version__,
        "protocol": settings.protocol,
        "simulation": True,
        "input": inputs,
        "graph": {
            "vertices": graph.vertices,
            "edges": graph.edges,
            "isolated": graph.isolated,
            "fingerprint": graph.fingerprint(),
            **asdict(graph.cleaning),
            "notes": list(graph.notes),
        },
        "settings": asdict(settings),
        "seconds": seconds,
        "peak_rss_bytes": peak_rss_bytes(),
        "peak_rss_by_stage": finished.stages.peaks(),
        "messages": finished.stages.total().as_dict(),
        "walks": {
            "count": len(walks.sequences),
            "length": int(walks.sequences.shape[1]),
            "hops_per_walk": walks.hops_per_walk,
            "expected_hops_per_walk": expected(settings) if paper else 0.0,
        },
        "nominal_epsilon": settings.epsilon if paper else None,
        "privacy": PRIVACY[settings.protocol].format(epsilon=settings.epsilon) + SIMULATED.get(settings.protocol, ""),
        "ledger": finished.ledger.as_dict(),
        **_decoded(finished),
    }


def _decoded(finished: Run) -> dict[str, Any]:
    """What the server of `ldp` made of the reports."""
    values = finished.stages.values
    if finished.settings.protocol != "ldp":
        return {}
    likely = values["posterior"]
    decoded = {"reported_pairs": likely.weights.size // 2, "expected_edges": float(likely.weights.sum()) / 2}
    return {"decoded": {**decoded, **({"softening": values["softening"]} if "softening" in values else {})}}


def expected(settings: Settings) -> float:
    """Hops that a walk should take."""
    least = find_predictor(settings.predictor).least
    return expected_hops(settings.walk_length, settings.predict, settings.burst, least)


def read_run(path: Path) -> dict[str, Any]:
    """The record of a finished run."""
    if not (path / "run.json").exists():
        raise RunFolderError(
            f"{path}: holds no finished run (no run.json). Name the folder that `fedwalk embed -o` wrote."
        )
    return read_record(path / "run.json", ("graph", "settings", "seconds", "messages", "walks"))
