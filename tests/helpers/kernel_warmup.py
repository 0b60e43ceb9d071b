"""Compiles the kernels at the start of a whole run of the tests, so that two workers don't both compile all of them.

The first call of a kernel compiles it, and later processes load it from a cache. In a new checkout, two workers that
begin at the same time would each compile nearly every kernel, which takes half a minute. So each compiles a half.
"""

import os
import warnings
from dataclasses import replace
from typing import Any

import numpy as np

import fedwalk
from conftest import SETTINGS
from helpers.walking_holders import compile_kernels

MANY = 1000
"""A run of fewer tests needs few kernels, which they compile themselves."""


PAPER: list[dict[str, Any]] = [
    {"predictor": "tree"}, {"predictor": "degree"}, {"predictor": "triad"}, {"runtime": "stepwise"},
]  # fmt: skip
LDP: list[dict[str, Any]] = [{"embed": "spectral"}, {"embed": "skipgram"}, {"runtime": "stepwise"}]


def compile_share(tests: int) -> None:
    """Compile this worker's half; nothing without xdist, or for a few tests."""
    shares = {"gw0": _compile_paper, "gw1": _compile_others}
    share = shares.get(os.environ.get("PYTEST_XDIST_WORKER", ""))
    if share is not None and tests > MANY:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", fedwalk.FedWalkWarning)
            share()


def _graph() -> fedwalk.Graph:
    return fedwalk.social_network(vertices=60, mean_degree=6, communities=3, seed=1)


def _weighted_graph() -> fedwalk.Graph:
    # Weights of 1 that are given explicitly need the kernels of weighted walks.
    return replace(_graph(), weights=np.ones(_graph().indices.size))


def _compile_paper() -> None:
    for changes in PAPER:
        fedwalk.FedWalk(**SETTINGS, **changes).fit(_graph())
        fedwalk.FedWalk(**SETTINGS, **changes).fit(_weighted_graph())


def _compile_others() -> None:
    # First what the other half needs as well, and needs last: the training.
    fedwalk.DeepWalk(**SETTINGS).fit(_graph())
    fedwalk.DeepWalk(**SETTINGS).fit(_weighted_graph())
    compile_kernels()
    for changes in LDP:
        fedwalk.FedWalk(**SETTINGS, protocol="ldp", epsilon=4, **changes).fit(_graph())
