"""How good an embedding is at a task."""

from fedwalk.evaluation.classification import RULES, Score, evaluate, losses

__all__ = ["RULES", "Score", "evaluate", "losses"]
