"""What walks tell the server: the first entry is a neighbour of the start, and neighbours follow each other.

The encoder stands between the two, and mostly returns what it was given.
"""

from itertools import pairwise

from fedwalk.audit.pairs import Pairs, by_frequency, distinct_pairs
from fedwalk.audit.views import SequenceView


def first_entries(view: SequenceView) -> Pairs:
    """Each start with the first entry of its walk.

    >>> import numpy as np
    >>> view = SequenceView(np.array([0, 1]), np.array([[1, 2], [0, 3]], np.int32))
    >>> first_entries(view).tolist(), consecutive_entries(view).tolist()
    ([[0, 1]], [[0, 1], [0, 3], [1, 2]])
    """
    return distinct_pairs(view.starts, view.sequences[:, 0])


def consecutive_entries(view: SequenceView) -> Pairs:
    """The same, and each entry with the next one, a predicted stranger or not; the most frequent pairs first."""
    columns = [view.starts, *view.sequences.T]
    return by_frequency(pairwise(columns))
