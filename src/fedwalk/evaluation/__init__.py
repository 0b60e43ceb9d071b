"""Score embeddings on two tasks: label classification and link prediction."""

from fedwalk.evaluation.baselines import BASELINES
from fedwalk.evaluation.classification import RULES, Score, evaluate, losses
from fedwalk.evaluation.links import SCORINGS, LinkScore, best_score, score_baseline, score_links
from fedwalk.evaluation.splits import LinkSplit, split_edges

__all__ = [
    "BASELINES",
    "RULES",
    "SCORINGS",
    "LinkScore",
    "LinkSplit",
    "Score",
    "best_score",
    "evaluate",
    "losses",
    "score_baseline",
    "score_links",
    "split_edges",
]
