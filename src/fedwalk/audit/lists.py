"""Attacks on protocol `ldp` by its server, which has the reported lists and its own decoding of them."""

import math

import numpy as np
from numpy.typing import NDArray

from fedwalk.audit.pairs import Pairs, among, distinct_pairs
from fedwalk.audit.views import ListView
from fedwalk.privacy.posterior import WeightedGraph


def reported_pairs(view: ListView) -> Pairs:
    """The reported pairs, taken for edges."""
    return distinct_pairs(*view.reports.pairs())


def are_reported(view: ListView, pairs: Pairs) -> NDArray[np.bool_]:
    """The bit that was sent for each pair: by randomised response, the best guess there is if both are as likely."""
    return among(pairs, reported_pairs(view))


def most_likely(decoded: WeightedGraph, count: int) -> Pairs:
    """The pairs that the decoder thinks most likely to be edges; `decoded` is made from the lists alone."""
    rows = np.repeat(np.arange(decoded.vertices), np.diff(decoded.indptr))
    once = np.flatnonzero(rows < decoded.indices)
    chosen = once[np.argsort(-decoded.weights[once], kind="stable")[:count]]
    return np.column_stack([rows[chosen], decoded.indices[chosen].astype(np.int64)])


def most_that_epsilon_allows(epsilon: float, density: float) -> float:
    """The largest share of right guesses about a pair of which nothing is known but its report.

    Posterior odds are at most e^ε times the prior odds, here those of any pair at all.

    >>> round(most_that_epsilon_allows(4.0, 0.00628), 2)
    0.26
    """
    raised = math.exp(epsilon) * density
    return raised / (raised + 1 - density)
