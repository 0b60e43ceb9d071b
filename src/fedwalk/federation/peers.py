"""A holder's walk phase: tokens hop directly from holder to holder until the walking of all has ended.

One event loop serves the endpoint, the couriers and the leader's waves; the mill grinds in a thread. What each waits
for is a fact: tokens have come, a batch is acknowledged, the holder has become passive, the leader has concluded.
"""

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from fedwalk.federation.couriers import Courier, Peer
from fedwalk.federation.endpoint import Endpoint
from fedwalk.federation.identity import Credentials
from fedwalk.federation.leading import lead
from fedwalk.federation.mill import Mill
from fedwalk.federation.parcels import WalksAnswer, WalksQuestion
from fedwalk.federation.termination import Standing, Succession
from fedwalk.federation.tokens import batch_key

Progress = Callable[[dict[str, Any]], None]

HOLD = 1.0
"""Seconds until a holder that is still busy answers a leader all the same."""
EVERY = 1.0
"""Seconds from one report of progress to the next."""
GRACE = 5.0
"""Seconds that the last answers have to leave."""
RESTS = 5
"""How many times `patience` a holder without work waits for the others."""


def walk_together(
    mill: Mill,
    question: WalksQuestion,
    me: int,
    credentials: Credentials,
    listen: str,
    progress: Progress,
) -> WalksAnswer:
    """Walk with the other holders of the plan until all walks have ended, or were given up.

    Parameters
    ----------
    mill
        This holder's, before `begin`.
    question, me
        The plan, and this holder's index in its `holders`.
    credentials
        What this holder trusts and shows.
    listen
        host:port to listen at; the others connect to the plan's address of this holder.
    progress
        Called about once a second with counts: begun, finished, handed, received, refused, bytes.
    """
    return asyncio.run(_start(mill, question, me, credentials, listen, progress))


async def _start(
    mill: Mill, question: WalksQuestion, me: int, credentials: Credentials, listen: str, progress: Progress
) -> WalksAnswer:
    return await _Walking(mill, question, me, credentials).run(listen, credentials, progress)


class _Walking:
    """One holder in one attempt: its work, and how it stands. Created in the event loop that it runs in."""

    def __init__(self, mill: Mill, question: WalksQuestion, me: int, credentials: Credentials) -> None:
        self.refused, self.ended = mill.refused, False
        self._mill, self._me, self._patience = mill, me, question.patience
        self._begun, self._handed, self._received = question.walks.size, 0, 0
        self._grinding = False
        self._work, self._rest, self._over = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._clock = asyncio.get_running_loop().time
        others = sorted(set(question.owner[question.alive].tolist()) - {me})
        self._names = {i: question.holders[i] for i in others}
        self._peers = {
            i: Peer(name, question.addresses[i], credentials, question.key, question.patience)
            for i, name in self._names.items()
        }
        key = batch_key(question.key)
        self._couriers = {
            i: Courier(peer, key, partial(mill.undeliverable, i), self._settle) for i, peer in self._peers.items()
        }
        self._endpoint = Endpoint(self, question.holders, others, question.key)
        self._succession = Succession(me, others, question.patience, self._clock())

    async def run(self, listen: str, credentials: Credentials, progress: Progress) -> WalksAnswer:
        """From the first walk to the last."""
        began, grace, tasks = time.perf_counter(), 0.0, []
        self._mill.begin()
        self._work.set()
        try:
            await self._endpoint.open(listen, credentials, self._patience)
            leading = lead(self._me, self, self._peers, self._succession, self._patience)
            jobs = [self._over.wait(), leading, self._tire(), self._grind(), self._report(progress)]
            tasks = [asyncio.ensure_future(job) for job in (*jobs, *(c.run() for c in self._couriers.values()))]
            for first in (await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED))[0]:
                first.result()
            grace = GRACE
        finally:
            await self._close(tasks, grace)
        progress(self._counts())
        return self._result(time.perf_counter() - began)

    async def _close(self, tasks: Sequence[asyncio.Future[Any]], grace: float) -> None:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._endpoint.close(grace)
        await asyncio.gather(*(peer.close() for peer in self._peers.values()))

    def _result(self, seconds: float) -> WalksAnswer:
        mill, couriers = self._mill, self._couriers.values()
        walks, entries = mill.sequences()
        return WalksAnswer(
            hops=mill.hops, carried=mill.carried, stranded=mill.stranded, undelivered=mill.undelivered,
            batches=sum(c.batches for c in couriers), sent_bytes=sum(c.sent_bytes for c in couriers), seconds=seconds,
            refused=json.dumps(self.refused), unreachable=[self._names[i] for i, p in self._peers.items() if p.gone],
            walks=walks, entries=entries,
        )  # fmt: skip

    def _counts(self) -> dict[str, Any]:
        sent = sum(courier.sent_bytes for courier in self._couriers.values())
        return {
            "begun": self._begun, "finished": self._mill.finished, "handed": self._handed,
            "received": self._received, "refused": self.refused.total(), "bytes": sent,
        }  # fmt: skip

    async def _report(self, progress: Progress) -> None:
        while True:
            progress(self._counts())
            await asyncio.sleep(EVERY)

    async def _grind(self) -> None:
        """Work off what is queued, in a thread, and send it on."""
        while True:
            await self._work.wait()
            self._work.clear()
            self._grinding = True
            outgoing = await asyncio.to_thread(self._mill.grind)
            self._grinding = False
            for holder, batch in outgoing.items():
                self._handed += len(batch)
                self._couriers[holder].take(batch)
            if not self._mill.passive:
                self._work.set()
            self._settle()

    def receive(self, sender: int, data: bytes) -> tuple[int, int]:
        """Take a peer's batch in. Whoever sends one twice is told the same twice, but it is no activity."""
        before = self.refused["sent twice"]
        accepted, refused = self._mill.receive(sender, data)
        if accepted and self.refused["sent twice"] == before:
            self._received += accepted
            self._work.set()
            self._settle()
        return accepted, refused

    def standing(self) -> Standing:
        """Passive is who has no token to work on, and none under way to somebody else."""
        busy = self._grinding or not self._mill.passive or any(not courier.idle for courier in self._couriers.values())
        return Standing(not busy, self._begun + self._handed + self._received)

    def _settle(self) -> None:
        """Wake those who wait for this holder to be passive, if it is."""
        if self.standing().passive:
            self._rest.set()
        else:
            self._rest.clear()

    async def settled(self) -> Standing:
        """How this holder stands as soon as it is passive, or in a moment."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._rest.wait(), min(HOLD, self._patience / 4))
        return self.standing()

    async def asked(self, sender: int) -> Standing:
        """A peer leads a wave, and asks."""
        self._succession.heard(sender, self._clock())
        return await self.settled()

    def conclude(self, sender: int, standing: Standing) -> bool:
        """A peer says that it is over: only the leader may, and only if nothing has happened here since it asked."""
        leads = sender == self._succession.leader(self._clock())
        if leads and standing.passive and standing == self.standing():
            self.ended = True
            self._over.set()
        elif not self.ended:
            self.refused["out of order"] += 1
        return self.ended

    async def _tire(self) -> None:
        """Leave after a long rest: somebody, by fault or on purpose, keeps everybody waiting and may do so for ever."""
        while not self.ended:
            await self._rest.wait()
            before = self.standing()
            await asyncio.sleep(RESTS * self._patience)
            self.ended |= before.passive and before == self.standing()
