"""Score embeddings on two tasks: label classification and link prediction."""

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
