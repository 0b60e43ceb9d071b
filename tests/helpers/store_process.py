"""A minimal holder process: takes the lock, answers from the store or draws and stores, and may then die.

As a program: `python store_process.py FOLDER vectors|reports [die]` prints the digest of the answer.
"""

import hashlib
import os
import signal
import sys
from pathlib import Path

import numpy as np

from fedwalk.federation.holder.answer_store import AnswerStore, question_key
from fedwalk.federation.holder.answers import answer_reports, answer_vectors
from fedwalk.federation.wire.questions import Fields, ReportsQuestion, VectorsQuestion, pack
from fedwalk.privacy.randomness import Randomness, SystemRandomness
from helpers.simulation import GRAPHS
from helpers.splitting import split

[NEIGHBOURS] = split(GRAPHS["karate"], 1)
PLACES = np.arange(34, dtype=np.int32)
VECTORS = VectorsQuestion("run 1", 3, 2.0, PLACES, PLACES % np.int32(3))
PLAN = ReportsQuestion("run 1", 34, 2.0, 0)


def digest(fields: Fields) -> str:
    content = [value.tobytes() if isinstance(value, np.ndarray) else value for value in fields.values()]
    return hashlib.sha256(repr(content).encode()).hexdigest()


def vectors(store: AnswerStore, randomness: Randomness) -> Fields:
    """Answer a vectors question: drawn once, then read from the store."""
    key = question_key(VECTORS)
    known = store.recall("vectors", key)
    if known is None:
        known = pack(answer_vectors(VECTORS, NEIGHBOURS, randomness))
        store.keep("vectors", key, known)
    return known


def reports(
    store: AnswerStore, randomness: Randomness, question: ReportsQuestion = PLAN, budget: float | None = None
) -> Fields:
    """Answer a reports question; the devices' states in the store keep the reports."""
    devices = store.report_devices(NEIGHBOURS, randomness, budget)
    answer = answer_reports(question, NEIGHBOURS, devices)
    store.keep_devices(devices)
    return pack(answer)


ANSWERS = {"vectors": vectors, "reports": reports}


def main(folder: str, what: str, end: str = "") -> None:
    with AnswerStore(Path(folder)).locked(10) as store:
        print(digest(ANSWERS[what](store, SystemRandomness())), flush=True)
        if end == "die":
            os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main(*sys.argv[1:])
