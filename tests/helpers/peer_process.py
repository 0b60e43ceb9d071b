"""One holder in its own process, for tests of peers: walks for every job that a line on stdin names.

Every line on stdout is a JSON object with an `event`: ready, begin, progress, paused, done. A job may let the engine
advance only a few tokens at a time, and stop it for good after a given number of sent tokens, so that a test knows
its state. It may also break all connections instead of answering the first conclusion. `members` is a file with the
names of the federation's members.
"""

import json
import pickle
import sys
import threading
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedwalk.federation.holder.neighbour_lists import OwnNeighbours
from fedwalk.federation.membership.keys import Credentials
from fedwalk.federation.walking import session
from fedwalk.federation.walking.engine import WalkEngine
from fedwalk.federation.walking.leader import AGREED
from fedwalk.federation.walking.peer_service import PeerService
from fedwalk.federation.walking.session import walk_together
from fedwalk.federation.wire.questions import WalksAnswer, WalksQuestion
from fedwalk.federation.wire.token_batches import Receipt, TokenBatch
from fedwalk.privacy.randomness import SimulatedRandomness


@dataclass(frozen=True)
class Job:
    """All that one holder needs to walk."""

    question: WalksQuestion
    neighbours: OwnNeighbours
    me: int
    seed: int
    credentials: Credentials
    listen: str
    max_tokens: int = 65536
    pause_after: int | None = None
    lose_conclusion: bool = False
    members: Path | None = None


@dataclass(frozen=True)
class Outcome:
    """A holder's answer, the tokens given to and taken from each other holder, and the lines for the owner."""

    answer: WalksAnswer
    given: Counter[int]
    taken: Counter[int]
    said: tuple[str, ...]


class WatchedEngine(WalkEngine):
    """A walk engine that counts the tokens that it gives to and takes from each other holder."""

    def __init__(self, job: Job) -> None:
        super().__init__(job.question, job.neighbours, job.me, SimulatedRandomness(job.seed))
        self._max_tokens, self._pause_after = job.max_tokens, job.pause_after
        self.given: Counter[int] = Counter()
        self.taken: Counter[int] = Counter()

    def advance(self, max_tokens: int = 0) -> dict[int, TokenBatch]:
        if self._pause_after is not None and self.given.total() >= self._pause_after:
            tell("paused")
            threading.Event().wait()
        outgoing = super().advance(self._max_tokens)
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


class ForgetfulService(PeerService):
    """A peer service whose answer to the first conclusion is lost with the connections."""

    lost = False

    async def _conclude(self, caller: int, body: bytes) -> bytes:
        answer = await super()._conclude(caller, body)
        if answer == AGREED and not self.lost:
            self.lost = True
            for number in list(self._port._connections):
                self._port._abort(number)
        return answer


def tell(event: str, **values: Any) -> None:
    print(json.dumps({"event": event, **values}), flush=True)


def walk(job: Job) -> Outcome:
    engine = WatchedEngine(job)
    said: list[str] = []
    setattr(session, "log_for_owner", said.append)  # noqa: B010 - mypy knows that it is a function
    setattr(session, "PeerService", ForgetfulService if job.lose_conclusion else PeerService)  # noqa: B010 - a class
    tell("begin")
    answer = walk_together(
        engine, job.question, job.me, job.credentials, job.listen, lambda counts: tell("progress", **counts),
        lambda: None if job.members is None else set(job.members.read_text().split()),
    )  # fmt: skip
    return Outcome(answer, engine.given, engine.taken, tuple(said))


def main() -> None:
    tell("ready")
    for line in sys.stdin:
        path = Path(line.strip())
        outcome = walk(pickle.loads(path.read_bytes()))
        path.with_suffix(".outcome").write_bytes(pickle.dumps(outcome))
        tell("done")


if __name__ == "__main__":
    from helpers.peer_process import main as importable_main

    importable_main()
