"""A holder's walk phase: tokens hop directly from holder to holder until the walks of all holders have ended.

One event loop runs the peer service, the peer senders and the leader's waves; the walk engine runs in a thread. Each
task waits for an event: tokens have arrived, a batch is acknowledged, this holder has become passive, or the leader has
concluded.
"""

import asyncio
import json
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from fedwalk.federation.membership.keys import Credentials
from fedwalk.federation.owner_log import log_for_owner
from fedwalk.federation.walking.engine import WalkEngine
from fedwalk.federation.walking.leader import lead
from fedwalk.federation.walking.peer_client import PeerClient, PeerSender
from fedwalk.federation.walking.peer_service import PeerService
from fedwalk.federation.walking.termination import HolderStatus, LeaderElection
from fedwalk.federation.wire.questions import WalksAnswer, WalksQuestion
from fedwalk.federation.wire.token_batches import Receipt, batch_key
from fedwalk.util.text import counted

Progress = Callable[[dict[str, Any]], None]
LookUpMembers = Callable[[], Collection[str] | None]
"""Looks up the current members of the federation; returns None if the lookup fails."""

PROBE_TIMEOUT = 1.0
"""Seconds after which a holder that is still busy answers a leader's probe."""
PROGRESS_INTERVAL = 1.0
"""Seconds between two calls of `on_progress`."""
LOOKUP_INTERVAL, MAX_LOOKUPS_PER_SECOND = 2.0, 20
"""Seconds between two lookups of the members; longer if all holders together would exceed the server's rate."""
GRACE = 5.0
"""Seconds to send the last answers when the walks have ended."""
LINGER = 5.0
"""Seconds that a holder stays for a leader that may not have received its agreement to the end."""
IDLE_FACTOR = 5
"""How many times `patience` a holder without work waits for the others."""


def walk_together(
    engine: WalkEngine,
    question: WalksQuestion,
    me: int,
    credentials: Credentials,
    listen: str,
    on_progress: Progress,
    members: LookUpMembers = lambda: None,
) -> WalksAnswer:
    """Walk with the other holders of the plan until every walk has ended or was given up.

    Parameters
    ----------
    engine
        This holder's walk engine, before `begin`.
    question, me
        The plan, and this holder's index in its `holders`.
    credentials
        This holder's key and certificate, and the authority that it trusts.
    listen
        host:port to listen at. The other holders connect to this holder's address in the plan.
    on_progress
        Called about once a second with counts: begun, finished, handed, received, refused, bytes.
    members
        Called about every two seconds, in a thread. A holder that isn't in its result was removed by the operator: from
        then on its calls are refused and it isn't called.
    """

    async def start() -> WalksAnswer:
        return await _WalkSession(engine, question, me, credentials).run(listen, credentials, on_progress, members)

    return asyncio.run(start())


class _WalkSession:
    """One holder in one attempt: its tasks and its status. Create it in the event loop in which it runs."""

    def __init__(self, engine: WalkEngine, question: WalksQuestion, me: int, credentials: Credentials) -> None:
        # The engine's own Counter: the service adds the calls that it refuses to the tokens that the engine refuses.
        self.refused, self.ended = engine.refused, False
        self._engine, self._me, self._patience = engine, me, question.patience
        self._begun, self._handed, self._received = question.walks.size, 0, 0
        self._processing = False
        self._work, self._passive = asyncio.Event(), asyncio.Event()
        self._concluded, self._released = asyncio.Event(), asyncio.Event()
        self._clock = asyncio.get_running_loop().time
        others = sorted(set(question.owner[question.alive].tolist()) - {me})
        self._names = {i: question.holders[i] for i in others}
        self._peers = {
            i: PeerClient(name, question.addresses[i], credentials, question.key, question.session, question.patience)
            for i, name in self._names.items()
        }
        key = batch_key(question.key)
        self._senders = {
            i: PeerSender(peer, key, partial(engine.undeliverable, i), partial(engine.delivered, i), self._update)
            for i, peer in self._peers.items()
        }
        self._service = PeerService(self, question.holders, others, question.key, question.sessions)
        self._election = LeaderElection(me, others, question.patience, self._clock())

    async def run(
        self, listen: str, credentials: Credentials, on_progress: Progress, members: LookUpMembers
    ) -> WalksAnswer:
        """Run all tasks until one of them ends the session."""
        began, grace, tasks = time.perf_counter(), 0.0, []
        self._engine.begin()
        # Also without walks of its own: `_process_tokens` then finds no token, and marks this holder as passive.
        self._work.set()
        try:
            await self._service.open(listen, credentials, self._patience)
            leading = lead(self._me, self, self._peers, self._election, self._patience)
            # Any of the first three ends the session: another leader has concluded, this holder led and concluded, or
            # it has been idle for too long. The others run until they are cancelled, or fail.
            parts = [self._wait_for_conclusion(), leading, self._stop_when_idle(), self._process_tokens()]
            parts += [self._call_on_progress(on_progress), self._watch_removals(members)]
            tasks = [asyncio.ensure_future(part) for part in (*parts, *(s.run() for s in self._senders.values()))]
            for first in (await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED))[0]:
                # Raises the exception of a task that has failed.
                first.result()
            # Only after a regular end, when answers such as AGREED must still reach their callers.
            grace = GRACE
        finally:
            await self._close(tasks, grace)
        on_progress(self._counts())
        return self._result(time.perf_counter() - began)

    async def _close(self, tasks: Sequence[asyncio.Future[Any]], grace: float) -> None:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._service.close(grace)
        await asyncio.gather(*(peer.close() for peer in self._peers.values()))

    def _result(self, seconds: float) -> WalksAnswer:
        engine, senders = self._engine, self._senders.values()
        self._tell_owner()
        walks, entries = engine.sequences()
        given_up, reasons, at = engine.given_up.columns()
        return WalksAnswer(
            hops=engine.hops, carried=engine.carried, batches=sum(s.batches for s in senders),
            sent_bytes=sum(s.sent_bytes for s in senders), seconds=seconds, interrupted=False,
            refused=json.dumps(self.refused),
            unreachable=[self._names[i] for i, peer in self._peers.items() if peer.unreachable],
            given_up=given_up, given_up_reasons=reasons, given_up_at=at, walks=walks, entries=entries,
        )  # fmt: skip

    def _tell_owner(self) -> None:
        """Log what the owner should look into: unreachable holders, copied certificates, refused calls and tokens."""
        for i, peer in self._peers.items():
            if peer.unreachable:
                log_for_owner(
                    f"walks: {self._names[i]} could not be reached ({peer.reason}); the walks sent to it were given up"
                )
            if copies := self._service.impostors[i]:
                log_for_owner(
                    f"walks: refused {copies} calls with a copy of {self._names[i]}'s certificate; tell its owner"
                )
        if copies := max((sender.impostors for sender in self._senders.values()), default=0):
            log_for_owner(
                f"walks: another holder has refused {counted(copies, 'call', 'calls')} with a copy of this holder's "
                "certificate: another process has its key. Make new keys, and tell the operator"
            )
        for reason, n in sorted(self.refused.items()):
            log_for_owner(f"walks: refused {counted(n, 'time', 'times')}: {reason}")

    def _counts(self) -> dict[str, Any]:
        sent = sum(sender.sent_bytes for sender in self._senders.values())
        return {
            "begun": self._begun, "finished": self._engine.finished, "handed": self._handed,
            "received": self._received, "refused": self.refused.total(), "bytes": sent,
        }  # fmt: skip

    async def _call_on_progress(self, on_progress: Progress) -> None:
        while True:
            on_progress(self._counts())
            await asyncio.sleep(PROGRESS_INTERVAL)

    async def _process_tokens(self) -> None:
        """Advance the queued tokens in a thread, and send those that leave to the next holder."""
        while True:
            await self._work.wait()
            self._work.clear()
            self._processing = True
            outgoing = await asyncio.to_thread(self._engine.advance)
            self._processing = False
            # There is no `await` from here to `_update`: a status in between would miss tokens that are in no queue.
            for holder, batch in outgoing.items():
                self._handed += len(batch)
                self._senders[holder].send(batch)
            if not self._engine.passive:
                self._work.set()
            self._update()

    async def _watch_removals(self, members: LookUpMembers) -> None:
        """Stop exchanging calls with each holder that the operator removes during the walks."""
        pause = max(LOOKUP_INTERVAL, len(self._names) / MAX_LOOKUPS_PER_SECOND)
        while True:
            current = await asyncio.to_thread(members)
            for i, name in self._names.items():
                # None means that the lookup failed, not that all members were removed.
                if current is not None and name not in current and not self._peers[i].unreachable:
                    log_for_owner(f"walks: the operator has removed {name}; its calls are refused from now on")
                    self._peers[i].give_up("removed by the operator")
                    self._service.remove(i)
            await asyncio.sleep(pause)

    def receive(self, sender: int, data: bytes) -> Receipt:
        """Take in a peer's batch. A repeated batch gets the same receipt again, and doesn't count as activity."""
        # Runs in the event loop while the engine may advance in its thread; the engine's lock separates the two.
        before = self._engine.accepted
        receipt = self._engine.receive(sender, data)
        if num_new := self._engine.accepted - before:
            self._received += num_new
            self._work.set()
            self._update()
        return receipt

    def status(self) -> HolderStatus:
        """This holder's status: it is passive if it has no token to work on and none on its way to a peer."""
        sending = any(not sender.idle for sender in self._senders.values())
        busy = self._processing or not self._engine.passive or sending
        # The count only grows, so two equal counts mean that no token came or went in between.
        return HolderStatus(not busy, self._begun + self._handed + self._received)

    def _update(self) -> None:
        """Set the event that this holder is passive, or clear it."""
        if self.status().passive:
            self._passive.set()
        else:
            self._passive.clear()

    async def settled_status(self) -> HolderStatus:
        """This holder's status as soon as it is passive, or after a short timeout."""
        with suppress(TimeoutError):
            # At most a quarter of `patience`, because the leader waits half of it for the answer to its probe.
            await asyncio.wait_for(self._passive.wait(), min(PROBE_TIMEOUT, self._patience / 4))
        return self.status()

    async def probed(self, sender: int) -> HolderStatus:
        """Answer the probe of a peer that leads a wave."""
        self._election.record_probe(sender, self._clock())
        return await self.settled_status()

    def conclude(self, sender: int, status: HolderStatus) -> bool:
        """End the session if the leader says so, and nothing has happened here since its last wave."""
        leads = sender == self._election.leader(self._clock())
        if leads and status.passive and status == self.status():
            self.ended = True
            self._concluded.set()
        elif not self.ended:
            self.refused[f"{self._names[sender]}: out of order"] += 1
        # Still True when the leader asks again, as it does if the first answer was lost.
        return self.ended

    def release(self, sender: int) -> None:
        """Let this holder leave: the leader has received its agreement."""
        if self.ended:
            self._released.set()
        else:
            self.refused[f"{self._names[sender]}: out of order"] += 1

    async def _wait_for_conclusion(self) -> None:
        """Wait for the leader's conclusion, then for its release, in case that the agreement has to be sent again."""
        await self._concluded.wait()
        with suppress(TimeoutError):
            # Less than `patience`, after which this holder would take the place of a leader that has left.
            await asyncio.wait_for(self._released.wait(), min(LINGER, self._patience / 2))

    async def _stop_when_idle(self) -> None:
        """End the session after a long time without work.

        A faulty or hostile holder can keep the waves from ever succeeding; this holder must not wait for it forever.
        """
        while not self.ended:
            await self._passive.wait()
            before = self.status()
            await asyncio.sleep(IDLE_FACTOR * self._patience)
            self.ended |= before.passive and before == self.status()
