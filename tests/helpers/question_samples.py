"""One question and one answer of every kind."""

from typing import Any

import numpy as np

from fedwalk.federation.wire.questions import (
    MatricesAnswer,
    MatricesQuestion,
    ReportsAnswer,
    ReportsQuestion,
    RollAnswer,
    RollQuestion,
    VectorsAnswer,
    VectorsQuestion,
    WalksAnswer,
    WalksQuestion,
)

IDS, LONGS, ROWS = np.arange(3, dtype=np.int32), np.arange(4), np.ones((3, 2), np.float32)

SAMPLES: dict[type[Any], Any] = {
    RollQuestion: RollQuestion("run", "paper", np.frombuffer(b'["a"]', np.uint8)),
    RollAnswer: RollAnswer("ada", IDS),
    ReportsQuestion: ReportsQuestion("run", 3, 2.0, 0),
    ReportsAnswer: ReportsAnswer(IDS, LONGS, IDS),
    VectorsQuestion: VectorsQuestion("run", 2, 2.0, IDS, IDS),
    VectorsAnswer: VectorsAnswer(IDS, ROWS),
    MatricesQuestion: MatricesQuestion("run", IDS, ROWS),
    MatricesAnswer: MatricesAnswer(IDS, LONGS, ROWS),
    WalksQuestion: WalksQuestion(
        "run", "00" * 16, "11" * 16, ["22" * 32] * 2, "tree", 2, 4, 3, 2.0, 0.5, 10.0, ["ada", "ben"], ["a:1", "b:1"],
        IDS, IDS, np.ones(3, np.bool_), LONGS, IDS, ROWS, np.zeros((2, 2), np.int32), LONGS, IDS, np.ones(3), IDS,
        LONGS, IDS, np.ones(3, np.bool_),
    ),
    WalksAnswer: WalksAnswer(
        1, 2, 1, 90, 0.5, False, "{}", ["ben"], LONGS[:3], IDS, IDS, np.arange(3), np.zeros((3, 4), np.int32)
    ),
}  # fmt: skip
