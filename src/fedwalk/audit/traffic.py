"""Who contacts whom, and how much: a token mostly goes to a neighbour, and the network that carries it sees both ends.

No encoder helps here, and no noise. Only a stranger that the predictor jumped to is a wrong guess. TLS hides what a
token says, not where it goes, nor how many there are: a walk visits a vertex in proportion to its degree.
"""

import numpy as np
from numpy.typing import NDArray

from fedwalk.audit.pairs import Pairs, by_frequency
from fedwalk.audit.views import RelayView


def contacts(view: RelayView) -> Pairs:
    """The pairs of devices that exchanged a token, the most frequent first.

    >>> import numpy as np
    >>> contacts(RelayView(np.array([[0, 1], [2, 1], [1, 2]]))).tolist()
    [[1, 2], [0, 1]]
    """
    return by_frequency([(view.contacts[:, 0], view.contacts[:, 1])])


def volumes(view: RelayView, devices: int) -> NDArray[np.int64]:
    """How many tokens each device sent or received.

    >>> volumes(RelayView(np.array([[0, 1], [2, 1], [1, 2]])), 4).tolist()
    [1, 3, 2, 0]
    """
    return np.bincount(view.contacts.ravel(), minlength=devices)
