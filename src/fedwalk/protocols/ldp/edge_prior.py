"""The prior probability that a pair is an edge, from the other reports. No privacy cost (PROOFS.md, 4).

The log-odds of an edge are linear in a few features of the pair: the number of edges expected from degrees alone
(Chung–Lu), how unequal the degrees are, and how many weighted paths of two edges connect the ends, compared with the
number expected from degrees alone. A pair's own report is on none of these paths and is left out of its ends' degrees:
otherwise it would count twice, in the prior and in the likelihood.

The coefficients are fitted by maximum likelihood through the known noise: a pair is reported with probability
q + (hit − q)·π. The fit uses reported pairs and a sample of all pairs. It uses no labels of vertices.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

PATHS = 0.001
"""Added to the actual and the expected number of paths, so that their ratio is stable where both are near zero."""
RIDGE = 1e-6
"""Penalty on the coefficients: keeps them finite where features are (nearly) the same for all pairs."""


def features(first: Floats, second: Floats, total: float, paths: Floats) -> Floats:
    """One row of features per pair, from its ends' degrees, the sum of all degrees, and its paths of two edges."""
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
    """The fitted coefficients, which apply to centred and scaled features."""

    line: Floats
    centre: Floats
    scale: Floats

    def __call__(self, rows: Floats) -> Floats:
        """π, the probability of an edge, for each row of features."""
        return logistic(((rows - self.centre) / self.scale) @ self.line)


def fit_prior(reported: Floats, weight: float, sample: Floats, weights: Floats, hit: float, flip: float) -> Prior:
    """Fit the prior by maximum likelihood to the features of reported pairs and of a sample of unreported ones.

    Each row of `reported` stands for `weight` reported pairs, each row of `sample` for `weights` unreported pairs.
    """
    from scipy.optimize import minimize  # slow to import, and only this protocol needs it

    centre, scale = np.average(sample, axis=0, weights=weights), sample.std(axis=0)
    # The first feature is the constant one: it stays as it is.
    centre[0], scale[scale < 1e-9] = 0.0, 1.0
    yes, no = (reported - centre) / scale, (sample - centre) / scale
    pairs, gain = weight * len(yes), hit - flip

    def objective(line: Floats) -> tuple[float, Floats]:
        likely, unlikely = logistic(yes @ line), logistic(no @ line)
        seen, unseen = flip + gain * likely, 1 - flip - gain * unlikely
        loss = -weight * np.log(seen).sum() - (weights * np.log(unseen)).sum()
        # The gradient, with dπ / d(log-odds) = π(1 − π).
        slope = no.T @ (weights * gain * unlikely * (1 - unlikely) / unseen)
        slope -= weight * (yes.T @ (gain * likely * (1 - likely) / seen))
        return loss / pairs + RIDGE * line @ line, slope / pairs + 2 * RIDGE * line

    # Start from sparse graphs: log-odds of −4 for every pair.
    start = np.zeros(yes.shape[1])
    start[0] = -4.0
    fit = minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": 200})
    line = np.asarray(fit.x, np.float64)
    line[0] += _level(yes @ line, weight, no @ line, weights, hit, flip)
    return Prior(line, centre, scale)


def _level(yes: Floats, weight: float, no: Floats, weights: Floats, hit: float, flip: float) -> float:
    """The number to add to all log-odds so that the expected number of edges is the one implied by the reports.

    The linear model is only an approximation. Its most likely coefficients may expect a wrong total, and the more noise
    there is, the more they do. The total is known well: solve for it by bisection.
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
    """1 / (1 + e^−odds), with the log-odds clipped so that exp() can't overflow."""
    return np.asarray(1 / (1 + np.exp(-np.clip(odds, -500, 500))))
