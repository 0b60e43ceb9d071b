"""Link prediction: how well an embedding of part of the edges tells the other edges from non-edges.

Held-out edges and as many random non-edges are scored by the vectors of their ends. A scoring is a cosine or dot
product, or a logistic regression on features of the two vectors, trained on training edges and other non-edges. Which
one is best depends on the graph and the protocol, so it can be chosen on validation pairs, which test nothing else.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedwalk.embedding import Embedding
from fedwalk.errors import InputError, SettingsError
from fedwalk.evaluation.baselines import BASELINES
from fedwalk.evaluation.coverage import check_all_embedded
from fedwalk.evaluation.splits import LinkSplit
from fedwalk.graph import Graph
from fedwalk.graph.pairs import Pairs
from fedwalk.util.parallel import ranges

Values = NDArray[np.float64]

BEST = "best"
MAX_TRAINING = 50_000
"""The largest number of training edges, and of training non-edges: ample for a few weights per dimension."""
_CHUNK = 1 << 12
"""Pairs scored at a time, which bounds the memory for their features and neighbours."""


@dataclass(frozen=True, slots=True)
class LinkScore:
    """How well held-out edges were told from non-edges.

    `scoring` names what scored the pairs. `pairs` is the number of tested edges and non-edges together. If half of them
    are edges, chance gives ½ for either score. `validation_auc` is the AUC on the split's validation pairs, None if it
    has none.
    """

    auc: float
    average_precision: float
    scoring: str
    pairs: int
    validation_auc: float | None = None


def score_links(embedding: Embedding, split: LinkSplit, scoring: str = "hadamard", seed: int = 0) -> LinkScore:
    """Score an embedding of the training graph by how well it tells held-out edges from non-edges.

    Parameters
    ----------
    embedding
        Vectors for the vertices of `split.training`, matched by name and trained without the held-out edges.
    scoring
        `cosine` or `dot`, which need no training; or `hadamard`, `l1`, `l2` or `average` of the two vectors as the
        features of a logistic regression; or `combined`, a regression on both vectors' products, sums and lengths; or
        `best`, the one of these with the highest AUC on the split's validation pairs.
    seed
        Chooses the training pairs of the regression if there are more than 50,000 of a kind.

    Examples
    --------
    >>> import fedwalk
    >>> from fedwalk.evaluation import split_edges
    >>> graph = fedwalk.social_network(vertices=300, mean_degree=12, communities=6, mixing=0.1, seed=1)
    >>> split = split_edges(graph, validation=0.25)
    >>> embedding = fedwalk.DeepWalk(num_walks=10, dim=16, threads=1).fit_transform(split.training)
    >>> score = score_links(embedding, split, "best")
    >>> 0.7 < score.auc < 1, score.pairs
    (True, 540)
    """
    if scoring not in (*SCORINGS, BEST):
        raise SettingsError(f"scoring = {scoring!r}: choose from {', '.join((*SCORINGS, BEST))}.")
    if seed < 0:
        raise SettingsError(f"seed = {seed}: at least 0.")
    if scoring == BEST:
        if not len(split.validation_edges):
            need = "validation pairs to choose a scoring on, e.g. those of split_edges(graph, validation=0.25)"
            raise InputError(f"scoring = 'best': the split needs {need}.")
        return best_score(score_links(embedding, split, each, seed) for each in SCORINGS)
    vectors = _vectors(embedding, split.training)
    combine = (OPERATORS | SIMILARITIES)[scoring]

    def combined(pairs: Pairs) -> Values:
        return combine(*vectors[pairs.T].astype(np.float64))

    if scoring in SIMILARITIES:
        return _score(split, scoring, combined)
    model = _trained(combined, split, np.random.default_rng(seed))
    return _score(split, scoring, lambda pairs: np.asarray(model.decision_function(combined(pairs))))


def best_score(scores: Iterable[LinkScore]) -> LinkScore:
    """The score with the highest AUC on the validation pairs, whatever the test pairs say; the first of equal ones.

    >>> best_score([LinkScore(0.8, 0.8, "cosine", 40, 0.7), LinkScore(0.7, 0.7, "dot", 40, 0.9)]).scoring
    'dot'
    """
    return max(scores, key=lambda score: score.validation_auc or 0.0)


def score_baseline(split: LinkSplit, baseline: str) -> LinkScore:
    """Score a baseline that needs no vectors, only the training graph: one of BASELINES, such as `degree product`.

    >>> import fedwalk
    >>> from fedwalk.evaluation import split_edges
    >>> split = split_edges(fedwalk.social_network(vertices=200, communities=3, seed=1))
    >>> score_baseline(split, "degree product").auc > 0.6
    True
    """
    if baseline not in BASELINES:
        raise SettingsError(f"baseline = {baseline!r}: choose from {', '.join(BASELINES)}.")
    return _score(split, baseline, partial(BASELINES[baseline], split.training))


def _dot(a: Values, b: Values) -> Values:
    return np.asarray(np.einsum("ij,ij->i", a, b))


def _cosine(a: Values, b: Values) -> Values:
    """The cosine of each pair of rows; zero if either row is zero."""
    lengths = _length(a) * _length(b)
    return np.asarray(np.divide(_dot(a, b), lengths, out=np.zeros(len(a)), where=lengths > 0))


def _length(a: Values) -> Values:
    return np.asarray(np.linalg.norm(a, axis=1))


def _combined(a: Values, b: Values) -> Values:
    """Products tell how alike two vectors are; sums and lengths tell how popular the vertices are."""
    lengths = _length(a), _length(b)
    product = lengths[0] * lengths[1]
    return np.column_stack((a * b, a + b, lengths[0] + lengths[1], product, np.log1p(product)))


OPERATORS: dict[str, Callable[[Values, Values], Values]] = {
    "hadamard": lambda a, b: a * b,
    "l1": lambda a, b: np.abs(a - b),
    "l2": lambda a, b: (a - b) ** 2,
    "average": lambda a, b: (a + b) / 2,
    "combined": _combined,
}
SIMILARITIES = {"cosine": _cosine, "dot": _dot}
SCORINGS = (*OPERATORS, *SIMILARITIES)


def _trained(features: Callable[[Pairs], Values], split: LinkSplit, rng: np.random.Generator) -> Any:
    """A logistic regression on standardised features, trained on as many edges as non-edges."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    kinds = (split.train_edges, split.train_non_edges)
    size = min(MAX_TRAINING, *map(len, kinds))
    pairs = np.concatenate([kind[np.sort(rng.choice(len(kind), size, replace=False))] for kind in kinds])
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    return model.fit(features(pairs), np.repeat([1, 0], size))


def _score(split: LinkSplit, scoring: str, judge: Callable[[Pairs], Values]) -> LinkScore:
    """Score the tested pairs and the validation pairs with `judge`, and compare the rankings with the truth."""
    auc, precision = _measure(judge, split.held_out, split.non_edges)
    validation = None
    if len(split.validation_edges):
        validation, _ = _measure(judge, split.validation_edges, split.validation_non_edges)
    return LinkScore(auc, precision, scoring, len(split.held_out) + len(split.non_edges), validation)


def _measure(judge: Callable[[Pairs], Values], edges: Pairs, non_edges: Pairs) -> tuple[float, float]:
    """AUC and average precision."""
    from sklearn.metrics import average_precision_score, roc_auc_score

    pairs = np.concatenate((edges, non_edges))
    chunks = ranges(len(pairs), -(-len(pairs) // _CHUNK))
    values = np.concatenate([judge(pairs[begin:end]) for begin, end in chunks])
    truth = np.arange(len(pairs)) < len(edges)
    return float(roc_auc_score(truth, values)), float(average_precision_score(truth, values))


def _vectors(embedding: Embedding, graph: Graph) -> NDArray[np.float32]:
    """The vectors, in the order of the graph's vertices."""
    check_all_embedded(embedding, graph, "Embed the split's training graph.")
    return np.stack([embedding[name] for name in graph.names.tolist()])
