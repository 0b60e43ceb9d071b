"""The leader's part in a walk phase: it probes all holders in waves until it can tell them that the walks have ended.

`termination` explains the waves and proves that they are enough.

The end takes two calls to each peer. The answer to the first, `Conclude`, can get lost with the connection, so a peer
that has agreed stays for a while to answer it again. The second, `Release`, lets the peer leave at once.
"""

import asyncio
from typing import Protocol

from fedwalk.errors import ProtocolError
from fedwalk.federation.walking.peer_client import RETRY_PAUSE, PeerClient, UnreachableError
from fedwalk.federation.walking.termination import HolderStatus, LeaderElection, Waves

AGREED, DISAGREED = b"\1", b"\0"
"""The answers to a `Conclude` call."""

RELEASE_TIMEOUT = 1.0
"""Seconds for a `Release` call. If it fails, the peer leaves a little later on its own."""

_BUSY = HolderStatus(False, 0)
"""The status of a peer that doesn't answer a probe: without an answer it can't count as passive."""


class WalkingHolder(Protocol):
    """The leader's own work. It is part of every wave, like that of the peers."""

    ended: bool

    def status(self) -> HolderStatus:
        """The status now."""
        ...

    async def settled_status(self) -> HolderStatus:
        """The status as soon as the holder is passive, or after a short timeout."""
        ...


async def lead(
    me: int, holder: WalkingHolder, peers: dict[int, PeerClient], election: LeaderElection, patience: float
) -> None:
    """Wait until this holder is the leader, then send waves until the walks have ended for it and for all peers.

    At the end a peer may disagree because it still considers another holder the leader, possibly one that this leader
    can't reach. It is told again for at most `patience` seconds; after that it has to detect the end on its own.
    """
    clock = asyncio.get_running_loop().time
    waves, remaining, deadline = Waves(), dict(peers), float("inf")
    while not holder.ended or (remaining and clock() < deadline):
        # Each probe of a lower holder postpones the turn, so it is computed again after the sleep.
        while (wait := election.turn() - clock()) > 0:
            await asyncio.sleep(wait)
        wave = await _wave(me, holder, remaining, patience)
        # The leader's own work has gone on during the wave, so its status is compared once more.
        if waves.terminated(wave) and wave[me] == holder.status():
            holder.ended, deadline = True, min(deadline, clock() + patience)
            remaining = await _conclude_all(remaining, wave)
        # An unreachable peer must not block the end. Without it the next wave differs, so two more waves are needed.
        remaining = {i: peer for i, peer in remaining.items() if not peer.unreachable}


async def _wave(
    me: int, holder: WalkingHolder, peers: dict[int, PeerClient], patience: float
) -> dict[int, HolderStatus]:
    """The status of every holder. A peer that doesn't answer counts as busy until it counts as unreachable."""
    # Half of `patience`: a peer that is waited for must not keep the others from getting probes in time, since they
    # would elect another leader.
    probes = (_probe(peer, patience / 2) for peer in peers.values())
    mine, *others = await asyncio.gather(holder.settled_status(), *probes)
    # Calls may fail at once; without the pause the waves would follow each other without delay.
    if _BUSY in others:
        await asyncio.sleep(RETRY_PAUSE)
    return {me: mine, **dict(zip(peers, others, strict=True))}


async def _probe(peer: PeerClient, timeout: float) -> HolderStatus:
    answer = await peer.call("Probe", b"", timeout)
    try:
        return _BUSY if answer is None else HolderStatus.from_bytes(answer)
    except ProtocolError as error:
        peer.give_up(str(error))
        return _BUSY


async def _conclude_all(peers: dict[int, PeerClient], wave: dict[int, HolderStatus]) -> dict[int, PeerClient]:
    """Tell every peer that the walks have ended; returns the peers that disagree."""
    agreed = await asyncio.gather(*(_conclude(peer, wave[i]) for i, peer in peers.items()))
    if not all(agreed):
        await asyncio.sleep(RETRY_PAUSE)
    return {i: peer for (i, peer), yes in zip(peers.items(), agreed, strict=True) if not yes}


async def _conclude(peer: PeerClient, status: HolderStatus) -> bool:
    try:
        agreed = await peer.ask("Conclude", status.to_bytes()) == AGREED
    except UnreachableError:
        return False
    if agreed:
        await peer.notify("Release", RELEASE_TIMEOUT)
    return agreed
