"""The prior of a pair: how likely an edge is, from what the reports say about its two ends (free, PROOFS.md, 4).

log-odds of an edge = a line in a few features of the pair: the edges that degrees alone would bring (Chung–Lu), how
unequal the degrees are, and how many weighted paths of two edges join the ends, beside as many as degrees alone would
bring. A pair's own report is on none of these paths and is left out of its ends' degrees, so the prior isn't drawn
from what it is to judge.

The line is fitted by maximum likelihood through the known channel: a pair is reported with probability
q + (hit − q)·π. Reported pairs and a sample of all pairs are enough for that; no label of any vertex plays a part.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

PATHS = 0.001
"""Added to paths found and paths expected, so that their ratio means something where there are hardly any."""
RIDGE = 1e-6


def features(first: Floats, second: Floats, total: float, paths: Floats) -> Floats:
    """One row per pair, from the degrees of its ends, the sum of all degrees, and the paths of two edges."""
    expected = first * second / total
    return np.column_stack([
        np.ones(first.size),
        np.log(expected),
        np.abs(np.log(first / second)),
        np.log((paths + PATHS) / (expected + PATHS)),
        np.log(paths + PATHS),
    ])  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Prior:
    """The fitted line; features are centred and scaled before it is applied."""

    line: Floats
    centre: Floats
    scale: Floats

    def __call__(self, rows: Floats) -> Floats:
        """π, the probability of an edge, for each row of features."""
        return logistic(((rows - self.centre) / self.scale) @ self.line)


def fit_prior(reported: Floats, weight: float, sample: Floats, weights: Floats, hit: float, flip: float) -> Prior:
    """Maximum likelihood from features of reported pairs and of a sample of all pairs.

    Each reported row stands for `weight` reported pairs, each row of the sample for `weights` pairs that weren't.
    """
    from scipy.optimize import minimize  # slow to import, and only this protocol needs it

    centre, scale = np.average(sample, axis=0, weights=weights), sample.std(axis=0)
    centre[0], scale[scale < 1e-9] = 0.0, 1.0
    yes, no = (reported - centre) / scale, (sample - centre) / scale
    pairs, gain = weight * len(yes), hit - flip

    def objective(line: Floats) -> tuple[float, Floats]:
        likely, unlikely = logistic(yes @ line), logistic(no @ line)
        seen, unseen = flip + gain * likely, 1 - flip - gain * unlikely
        loss = -weight * np.log(seen).sum() - (weights * np.log(unseen)).sum()
        slope = no.T @ (weights * gain * unlikely * (1 - unlikely) / unseen)
        slope -= weight * (yes.T @ (gain * likely * (1 - likely) / seen))
        return loss / pairs + RIDGE * line @ line, slope / pairs + 2 * RIDGE * line

    start = np.zeros(yes.shape[1])
    start[0] = -4.0
    found = minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": 200})
    line = np.asarray(found.x, np.float64)
    line[0] += _level(yes @ line, weight, no @ line, weights, hit, flip)
    return Prior(line, centre, scale)


def _level(yes: Floats, weight: float, no: Floats, weights: Floats, hit: float, flip: float) -> float:
    """What to add to the log-odds so that they expect as many edges as the number of reports implies.

    A line that isn't quite right may be the most likely one and yet be wrong on the whole, the more so the more noise.
    """
    reports, everything = weight * yes.size, weight * yes.size + weights.sum()
    edges = (reports - flip * everything) / (hit - flip)
    low, high = -30.0, 30.0
    if not 0 < edges < everything:
        return 0.0
    for _ in range(50):
        middle = (low + high) / 2
        expected = weight * logistic(yes + middle).sum() + (weights * logistic(no + middle)).sum()
        low, high = (middle, high) if expected < edges else (low, middle)
    return (low + high) / 2


def logistic(odds: Floats) -> Floats:
    """1 / (1 + e^−odds), far from both ends of the floats."""
    return np.asarray(1 / (1 + np.exp(-np.clip(odds, -500, 500))))
