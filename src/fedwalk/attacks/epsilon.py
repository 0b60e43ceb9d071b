"""Lower bounds on ε from right and wrong guesses: with a smaller ε, so many right guesses would be too unlikely.

Both bounds hold with the given confidence. The ε of a mechanism whose bound is tight, as that of randomised response
is, is therefore sometimes overestimated: at 95%, in at most one of twenty audits.
"""

import math

from scipy.special import betaincinv

CONFIDENCE = 0.95


def one_run_bound(right: int, guesses: int, confidence: float = CONFIDENCE) -> float:
    """The one-run bound for pure ε (Steinke, Nasr and Jagielski 2023, with δ = 0).

    A fair coin decided for each of many canaries whether it is an edge. Under ε-differential privacy the number of
    right guesses, abstentions left out, is stochastically at most Binomial(guesses, e^ε / (1 + e^ε)).

    Parameters
    ----------
    right, guesses
        Canaries guessed right, and guessed at all.
    confidence
        The chance that the bound holds.

    Examples
    --------
    >>> round(one_run_bound(982, 1000), 2), round(one_run_bound(1000, 1000), 2), one_run_bound(500, 1000)
    (3.6, 5.81, 0.0)
    """
    # A smaller rate of wrong guesses means a larger ε, so its upper bound gives the lower bound of ε.
    max_wrong = _upper(guesses - right, guesses, confidence)
    return max(0.0, math.log((1 - max_wrong) / max_wrong)) if max_wrong < 1 else 0.0


def repeats_bound(
    hits: int, with_edge: int, false_hits: int, without_edge: int, confidence: float = CONFIDENCE
) -> float:
    """The classic bound: how often one bit was 1 over many runs with the edge, and over many without.

    ε is at least log(true-positive rate / false-positive rate), and the same of the negatives; each rate is replaced by
    its Clopper–Pearson bound, at a confidence that lets both hold together.

    Parameters
    ----------
    hits, with_edge
        Ones among the runs with the edge, and how many these were.
    false_hits, without_edge
        The same for the runs without.
    confidence
        The chance that the bound holds.

    Examples
    --------
    >>> round(repeats_bound(982, 1000, 18, 1000), 2), repeats_bound(500, 1000, 500, 1000)
    (3.54, 0.0)
    """
    # Half of the allowed error for each rate: by the union bound both hold with the given confidence.
    each = 1 - (1 - confidence) / 2
    max_missed = _upper(with_edge - hits, with_edge, each)
    max_false = _upper(false_hits, without_edge, each)
    # Then at least one logarithm below doesn't exist, and the other isn't positive.
    if max_missed >= 1 or max_false >= 1:
        return 0.0
    return max(0.0, math.log((1 - max_missed) / max_false), math.log((1 - max_false) / max_missed))


def _upper(count: int, total: int, confidence: float) -> float:
    """Clopper and Pearson's upper bound on a rate, of which `count` in `total` were seen."""
    # The bound is a quantile of the distribution Beta(count + 1, total − count).
    return 1.0 if count >= total else float(betaincinv(count + 1, total - count, confidence))
