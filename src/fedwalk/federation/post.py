"""Flower as the post: questions out through its Grid, answers in, holders told apart by their registered keys.

A node id of Flower's belongs to a registered public key, and the key to a holder: nobody else is given its questions.
Of a reply Flower checks that some registered key sent it, and that it names a question's id and the node that was
asked; not that the key is that node's. So that an answer is the holder's own rests also on this: the id of the node,
which is random, and that of the question are known to that holder and to the server alone.
"""

import math
import time
from collections.abc import Iterator
from typing import Any

import httpx
from flwr.app import Message
from flwr.serverapp import Grid

from fedwalk.errors import ProtocolError
from fedwalk.federation.coordinator import Failure
from fedwalk.federation.parcels import Fields
from fedwalk.federation.records import MOST_BYTES, REFUSAL, fields_from_records, to_records

LONGEST = 7 * 86400.0
"""Seconds that a walk phase may take."""
LAGGARDS = 6
"""How many times `patience` a holder may walk on when half of them are done; ones left alone give up after five."""
POLL = 0.5
"""Seconds between two looks for answers: Flower has no way to be told."""


class FlowerPost:
    """Carries questions to the holders of `nodes` (name → node id).

    `patience` is how long a holder may take to come online at first, and to answer, except for walks: those take
    as long as they take, and Flower itself notices a holder that is gone. `largest` is how many bytes of arrays an
    answer may have.
    """

    def __init__(self, grid: Grid, nodes: dict[str, int], patience: float, largest: int) -> None:
        self._grid, self._nodes, self._patience, self._largest = grid, nodes, patience, largest

    def await_online(self, holders: set[str]) -> None:
        """Wait for these holders to be online; after `patience` go on with those who are."""
        end = time.monotonic() + self._patience
        wanted = {self._nodes[name] for name in holders if name in self._nodes}
        while not wanted <= set(self._grid.get_node_ids()) and time.monotonic() < end:
            time.sleep(POLL)

    def ask(self, questions: dict[str, Any]) -> Iterator[tuple[str, Fields | Failure]]:
        """Send all questions, yield the answers as they come."""
        waiting: dict[str, str] = {}
        online = set(self._grid.get_node_ids())
        end = time.monotonic() + self._patience
        phase = ""
        for holder, question in questions.items():
            phase = type(question).__name__.removesuffix("Question").lower()
            if self._nodes.get(holder) not in online:
                yield holder, Failure("not online")
                continue
            message = Message(
                to_records(question), dst_node_id=self._nodes[holder], message_type=f"query.{phase}", ttl=LONGEST
            )
            # Of what the SuperLink doesn't take, Flower returns no id, or None.
            sent = next(iter(self._grid.push_messages([message])), None)
            if sent is None:
                yield holder, Failure("the server couldn't take the question")
            else:
                waiting[sent] = holder
        if phase == "walks":
            yield from self._collect(waiting, math.inf, "no answer, long after the others")
        else:
            yield from self._collect(waiting, end, f"no answer in {self._patience:g} s")

    def _collect(self, waiting: dict[str, str], end: float, late: str) -> Iterator[tuple[str, Fields | Failure]]:
        """The answers to what was sent, by its id; at the end the others have failed."""
        able, answered = len(waiting), 0
        while waiting:
            for sent in list(waiting):
                for reply in self._pull(sent):
                    holder = waiting.pop(sent)
                    outcome = read_reply(reply, self._nodes[holder], self._largest)
                    failed = isinstance(outcome, Failure)
                    able, answered = able - failed, answered + (not failed)
                    # Walks end for all holders at once: when half of those who can have answered, the others are due.
                    # A few that fail, or answer before it is time, say nothing about the rest.
                    if 0 < able <= 2 * answered:
                        end = min(end, time.monotonic() + LAGGARDS * self._patience)
                    yield holder, outcome
            if waiting and time.monotonic() > end:
                yield from ((holder, Failure(late)) for holder in waiting.values())
                return
            if waiting:
                time.sleep(POLL)

    def _pull(self, sent: str) -> list[Message | Failure]:
        """The answer, if it is there. What a holder sent may fail to be put together in any way that there is."""
        try:
            return list(self._grid.pull_messages([sent]))
        except httpx.HTTPError:
            raise
        except ProtocolError as error:
            return [Failure(str(error), refused=True)]
        except Exception as error:
            return [Failure(f"the answer can't be put together ({type(error).__name__})", refused=True)]


def read_reply(reply: Message | Failure, node: int, largest: int = MOST_BYTES) -> Fields | Failure:
    """The fields of an answer, or why there are none; ones that can't be read are the reader's to refuse."""
    if isinstance(reply, Failure):
        return reply
    if reply.has_error():
        return Failure(f"Flower: {str(reply.error.reason)[:300]}")
    if reply.metadata.src_node_id != node:
        return Failure("the answer came from another node", refused=True)
    try:
        fields = fields_from_records(reply.content, largest)
    except ProtocolError as error:
        return Failure(str(error), refused=True)
    if fields.keys() == {REFUSAL}:
        return Failure(f"refused: {str(fields[REFUSAL])[:300]}")
    return fields
