"""Who contacts whom: a token mostly goes to a neighbour, and whoever carries it sees both ends.

No encoder helps here, and no noise. Only a stranger that the predictor jumped to is a wrong guess.
"""

from fedwalk.audit.pairs import Pairs, by_frequency
from fedwalk.audit.views import RelayView


def contacts(view: RelayView) -> Pairs:
    """The pairs of devices that exchanged a token, the most frequent first.

    >>> import numpy as np
    >>> contacts(RelayView(np.array([[0, 1], [2, 1], [1, 2]]))).tolist()
    [[1, 2], [0, 1]]
    """
    return by_frequency([(view.contacts[:, 0], view.contacts[:, 1])])
