"""A holder's walk phase: tokens hop directly from holder to holder until the walking of all has ended.

One event loop serves the endpoint, the couriers and the leader's waves; the mill grinds in a thread. What each waits
for is a fact: tokens have come, a batch is acknowledged, the holder has become passive, the leader has concluded.
"""

import asyncio
import json
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from fedwalk.federation.couriers import Courier, Peer
from fedwalk.federation.endpoint import Endpoint
from fedwalk.federation.identity import Credentials
from fedwalk.federation.leading import lead
from fedwalk.federation.mill import Mill
from fedwalk.federation.notices import say
from fedwalk.federation.parcels import WalksAnswer, WalksQuestion
from fedwalk.federation.termination import Standing, Succession
from fedwalk.federation.tokens import Receipt, batch_key

Progress = Callable[[dict[str, Any]], None]
Members = Callable[[], Collection[str] | None]
"""Who is a member of the federation now; None if that can't be found out."""

HOLD = 1.0
"""Seconds until a holder that is still busy answers a leader all the same."""
EVERY = 1.0
"""Seconds from one report of progress to the next."""
LOOK, LOOKS_PER_SECOND = 2.0, 20
"""Seconds from one look at who is a member to the next; more if so many holders would keep the server busy."""
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
    members: Members = lambda: None,
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
    members
        Called every other second or so, in a thread: a holder that isn't among them any more was removed by the
        operator, so its calls are refused from then on and it is called no more.
    """

    async def start() -> WalksAnswer:
        return await _Walking(mill, question, me, credentials).run(listen, credentials, progress, members)

    return asyncio.run(start())


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
            i: Peer(name, question.addresses[i], credentials, question.key, question.session, question.patience)
            for i, name in self._names.items()
        }
        key = batch_key(question.key)
        self._couriers = {
            i: Courier(peer, key, partial(mill.undeliverable, i), partial(mill.delivered, i), self._settle)
            for i, peer in self._peers.items()
        }
        self._endpoint = Endpoint(self, question.holders, others, question.key, question.sessions)
        self._succession = Succession(me, others, question.patience, self._clock())

    async def run(self, listen: str, credentials: Credentials, progress: Progress, members: Members) -> WalksAnswer:
        """From the first walk to the last."""
        began, grace, tasks = time.perf_counter(), 0.0, []
        self._mill.begin()
        self._work.set()
        try:
            await self._endpoint.open(listen, credentials, self._patience)
            leading = lead(self._me, self, self._peers, self._succession, self._patience)
            jobs = [self._over.wait(), leading, self._tire(), self._grind(), self._report(progress)]
            jobs.append(self._heed_removals(members))
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
        self._tell_owner()
        walks, entries = mill.sequences()
        given_up, reasons, at = mill.given_up.columns()
        return WalksAnswer(
            hops=mill.hops, carried=mill.carried, batches=sum(c.batches for c in couriers),
            sent_bytes=sum(c.sent_bytes for c in couriers), seconds=seconds, interrupted=False,
            refused=json.dumps(self.refused), unreachable=[self._names[i] for i, p in self._peers.items() if p.gone],
            given_up=given_up, given_up_reasons=reasons, given_up_at=at, walks=walks, entries=entries,
        )  # fmt: skip

    def _tell_owner(self) -> None:
        """Say what the owner should look into: holders out of reach, refusals, copies of a certificate."""
        for i, peer in self._peers.items():
            if peer.gone:
                say(f"walks: {self._names[i]} could not be reached, its tokens were given up: {peer.why}")
            if copies := self._endpoint.impostors[i]:
                say(f"walks: refused {copies} calls with a copy of {self._names[i]}'s certificate; tell its owner")
        if copies := max((courier.impostors for courier in self._couriers.values()), default=0):
            say(
                f"walks: another holder has refused {copies} calls that showed a copy of this holder's certificate: "
                "another process has its key. Make new keys, and tell the operator"
            )
        for reason, n in sorted(self.refused.items()):
            say(f"walks: refused {n:,} times: {reason}")

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

    async def _heed_removals(self, members: Members) -> None:
        """Part with each holder that the operator removes while the walks are under way."""
        pause = max(LOOK, len(self._names) / LOOKS_PER_SECOND)
        while True:
            now = await asyncio.to_thread(members)
            for i, name in self._names.items():
                if now is not None and name not in now and not self._peers[i].gone:
                    say(f"walks: the operator has removed {name}; its calls are refused from now on")
                    self._peers[i].leave("removed by the operator")
                    self._endpoint.remove(i)
            await asyncio.sleep(pause)

    def receive(self, sender: int, data: bytes) -> Receipt:
        """Take a peer's batch in. One that is sent twice gets the same receipt twice, but it is no activity."""
        before = self._mill.accepted
        receipt = self._mill.receive(sender, data)
        if fresh := self._mill.accepted - before:
            self._received += fresh
            self._work.set()
            self._settle()
        return receipt

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
            self.refused[f"{self._names[sender]}: out of order"] += 1
        return self.ended

    async def _tire(self) -> None:
        """Leave after a long rest: somebody, by fault or on purpose, keeps everybody waiting and may do so for ever."""
        while not self.ended:
            await self._rest.wait()
            before = self.standing()
            await asyncio.sleep(RESTS * self._patience)
            self.ended |= before.passive and before == self.standing()
