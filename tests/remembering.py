"""A holder's process in small: it takes the lock, answers from its memory or draws and keeps, and may die then.

As a program: `python remembering.py FOLDER vectors|lists [die]` prints the digest of the answer.
"""

import hashlib
import os
import signal
import sys
from pathlib import Path

import numpy as np

from fedwalk.federation.holder import answer_lists, answer_vectors
from fedwalk.federation.memory import Memory, question_key
from fedwalk.federation.parcels import Fields, ListsQuestion, VectorsQuestion, pack
from fedwalk.protocol.randomness import Randomness, SystemRandomness
from simulation import GRAPHS
from splitting import split

[LISTS] = split(GRAPHS["karate"], 1)
PLACES = np.arange(34, dtype=np.int32)
VECTORS = VectorsQuestion("run 1", 3, 2.0, PLACES, PLACES % np.int32(3))
PLAN = ListsQuestion("run 1", 34, 2.0, 0)


def digest(fields: Fields) -> str:
    content = [value.tobytes() if isinstance(value, np.ndarray) else value for value in fields.values()]
    return hashlib.sha256(repr(content).encode()).hexdigest()


def vectors(memory: Memory, randomness: Randomness) -> Fields:
    """Drawn once, then recalled."""
    key = question_key(VECTORS)
    known = memory.recall("vectors", key)
    if known is None:
        known = pack(answer_vectors(VECTORS, LISTS, randomness))
        memory.keep("vectors", key, known)
    return known


def lists(
    memory: Memory, randomness: Randomness, question: ListsQuestion = PLAN, budget: float | None = None
) -> Fields:
    """The same in `ldp`, where the devices themselves remember."""
    devices = memory.list_devices(LISTS, randomness, budget)
    answer = answer_lists(question, LISTS, devices)
    memory.keep_devices(devices)
    return pack(answer)


ANSWERS = {"vectors": vectors, "lists": lists}


def main(folder: str, what: str, end: str = "") -> None:
    with Memory(Path(folder)).locked(10) as memory:
        print(digest(ANSWERS[what](memory, SystemRandomness())), flush=True)
        if end == "die":
            os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main(*sys.argv[1:])
