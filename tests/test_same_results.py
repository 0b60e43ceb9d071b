"""The same settings, graph and seed give the same values as ever: digests of every stage, kept in data/digests.json.

A change of the code's shape must leave them alone. One that changes results on purpose says so, and makes them anew:
`python tests/test_same_results.py > tests/data/digests.json`.

Ids are integers and the same everywhere. Floating-point values may differ in the last bit where numpy, numba or the
processor do; they are compared on a machine like the one that made the digests, and the test says where they aren't.
"""

import hashlib
import json
import platform
import sys
import warnings
from functools import cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import fedwalk

FILE = Path(__file__).parent / "data" / "digests.json"
SMALL: dict[str, Any] = {"num_walks": 4, "walk_length": 20, "dim": 16, "threads": 1, "seed": 11}
CASES: dict[str, dict[str, Any]] = {
    "paper": {},
    "paper-stepwise": {"runtime": "stepwise"},
    "paper-average-identity": {"tree": "average", "encoder": "identity", "predictor": "degree"},
    "paper-frugal": {"predictor": "triad", "predict": 1.0, "burst": 4},
    "paper-noisy": {"epsilon": 0.3, "num_bins": 3, "predict": 0.5, "burst": 3},
    "ldp": {"protocol": "ldp", "epsilon": 4.0},
    "ldp-stepwise": {"protocol": "ldp", "epsilon": 4.0, "runtime": "stepwise"},
    "ldp-skipgram": {"protocol": "ldp", "epsilon": 6.0, "embed": "skipgram"},
    "deepwalk": {"protocol": "deepwalk"},
    "deepwalk-spectral": {"protocol": "deepwalk", "embed": "spectral"},
}
GRAPHS = ("social", "isolated")
IDS = ("bins", "reports", "walks", "hops")
"""Stages whose values are integers."""


@cache
def graph_of(name: str) -> fedwalk.Graph:
    if name == "social":
        return fedwalk.social_network(vertices=300, mean_degree=8, communities=4, seed=3)
    ends = np.array([[0, 1], [1, 2], [2, 0], [2, 3], [3, 4], [4, 5], [5, 3], [6, 3], [7, 6], [7, 0], [1, 8]])
    dense = np.zeros((11, 11), int)
    dense[ends[:, 0], ends[:, 1]] = dense[ends[:, 1], ends[:, 0]] = 1
    return fedwalk.load_graph(scipy.sparse.csr_matrix(dense))


def machine() -> str:
    """What the last bit of a floating-point value may depend on."""
    binding = import_module("llvmlite.binding")

    versions = [f"{name} {version(name)}" for name in ("numpy", "numba", "scipy")]
    return ", ".join([*versions, platform.machine(), binding.get_host_cpu_name()])


def digest(*arrays: Any) -> str:
    total = hashlib.sha256()
    for array in map(np.ascontiguousarray, arrays):
        total.update(f"{array.dtype.str}{array.shape}".encode())
        total.update(array.tobytes())
    return total.hexdigest()[:16]


def digests_of(graph: fedwalk.Graph, changes: dict[str, Any]) -> dict[str, str]:
    """Run a case and digest every stage that the estimator shows."""
    estimator: Any = fedwalk.DeepWalk if changes.get("protocol") == "deepwalk" else fedwalk.FedWalk
    model = estimator(**{**SMALL, **changes})
    values = {"vectors": digest(model.fit_transform(graph).vectors)}
    protocol = model.settings_.protocol
    if protocol == "paper":
        values["bins"] = digest(model.bins_)
        values["degree_vectors"] = digest(model.degree_vectors_)
        values["tree"] = digest(model.tree_.linkage)
        values["encoder"] = digest(*model.encoder_.arrays)
    if protocol == "ldp":
        values["reports"] = digest(model.reports_.starts, model.reports_.ids)
        values["posterior"] = digest(model.posterior_.weights)
    if protocol != "ldp" or model.settings_.embed == "skipgram":
        values["walks"] = digest(model.walks_.sequences)
        values["hops"] = str(model.walks_.hops)
    return values


@pytest.mark.filterwarnings("ignore::fedwalk.FedWalkWarning")
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("case", CASES)
def test_every_stage_is_what_it_was(graph: str, case: str) -> None:
    kept = json.loads(FILE.read_text(encoding="utf-8"))
    values, expected = digests_of(graph_of(graph), CASES[case]), kept["digests"][f"{graph} {case}"]
    ids = [stage for stage in expected if stage in IDS]
    assert {stage: values[stage] for stage in ids} == {stage: expected[stage] for stage in ids}
    if machine() != kept["machine"]:
        pytest.skip(f"ids are the same; floating-point values were not compared: {machine()}, not {kept['machine']}")
    assert values == expected


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    every = {f"{graph} {case}": digests_of(graph_of(graph), CASES[case]) for graph in GRAPHS for case in CASES}
    json.dump({"machine": machine(), "digests": every}, sys.stdout, indent=1)
    print()
