"""How good an embedding is at a task."""

from fedwalk.evaluation.classification import RULES, Score, evaluate, losses
from fedwalk.evaluation.links import (
    BASELINES,
    METHODS,
    LinkScore,
    LinkSplit,
    score_baseline,
    score_links,
    split_edges,
)

__all__ = [
    "BASELINES",
    "METHODS",
    "RULES",
    "LinkScore",
    "LinkSplit",
    "Score",
    "evaluate",
    "losses",
    "score_baseline",
    "score_links",
    "split_edges",
]
