"""One holder as a process of its own, for the tests of peers: walks for every job that a line on stdin names.

Every line on stdout is a JSON object with an `event`: ready, begin, progress, paused, done. A job may let the mill
grind little at a time, and pause for good after so many tokens handed on, for a test that wants to know where it
stands. `members` is a file with the names of the federation's members.
"""

import json
import pickle
import sys
import threading
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedwalk.federation import peers
from fedwalk.federation.identity import Credentials
from fedwalk.federation.lists import OwnLists
from fedwalk.federation.mill import Mill
from fedwalk.federation.parcels import WalksAnswer, WalksQuestion
from fedwalk.federation.peers import walk_together
from fedwalk.federation.tokens import Receipt, TokenBatch
from fedwalk.protocol.randomness import SimulatedRandomness


@dataclass(frozen=True)
class Job:
    """What one holder needs to walk."""

    question: WalksQuestion
    lists: OwnLists
    me: int
    seed: int
    credentials: Credentials
    listen: str
    most: int = 65536
    pause_after: int | None = None
    members: Path | None = None


@dataclass(frozen=True)
class Outcome:
    """Its answer; how many tokens each other holder has taken from it, and it from each of them; the owner's lines."""

    answer: WalksAnswer
    given: Counter[int]
    taken: Counter[int]
    said: tuple[str, ...]


class WatchedMill(Mill):
    """A mill that keeps count of where tokens go and come from."""

    def __init__(self, job: Job) -> None:
        super().__init__(job.question, job.lists, job.me, SimulatedRandomness(job.seed))
        self._most, self._pause_after = job.most, job.pause_after
        self.given: Counter[int] = Counter()
        self.taken: Counter[int] = Counter()

    def grind(self, most: int = 0) -> dict[int, TokenBatch]:
        if self._pause_after is not None and self.given.total() >= self._pause_after:
            tell("paused")
            threading.Event().wait()
        outgoing = super().grind(self._most)
        self.given.update({holder: len(batch) for holder, batch in outgoing.items()})
        return outgoing

    def receive(self, sender: int, data: bytes) -> Receipt:
        before = self.accepted
        receipt = super().receive(sender, data)
        self.taken[sender] += self.accepted - before
        return receipt

    def undeliverable(self, holder: int, batch: TokenBatch) -> None:
        super().undeliverable(holder, batch)
        self.given[holder] -= len(batch)


def tell(event: str, **values: Any) -> None:
    print(json.dumps({"event": event, **values}), flush=True)


def walk(job: Job) -> Outcome:
    mill = WatchedMill(job)
    said: list[str] = []
    setattr(peers, "say", said.append)  # noqa: B010 - mypy knows that it is a function
    tell("begin")
    answer = walk_together(
        mill, job.question, job.me, job.credentials, job.listen, lambda counts: tell("progress", **counts),
        lambda: None if job.members is None else set(job.members.read_text().split()),
    )  # fmt: skip
    return Outcome(answer, mill.given, mill.taken, tuple(said))


def main() -> None:
    tell("ready")
    for line in sys.stdin:
        path = Path(line.strip())
        outcome = walk(pickle.loads(path.read_bytes()))
        path.with_suffix(".outcome").write_bytes(pickle.dumps(outcome))
        tell("done")


if __name__ == "__main__":
    from peer_process import main as importable_main

    importable_main()
