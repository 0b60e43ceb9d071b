"""The leader's part in a walk phase: wave after wave of questions, and the word that it is over (see `termination`)."""

import asyncio
from typing import Protocol

from fedwalk.errors import ProtocolError
from fedwalk.federation.couriers import PAUSE, Peer, UnreachableError
from fedwalk.federation.termination import Standing, Succession, Waves

AGREED, DISAGREED = b"\1", b"\0"
"""The answers to `Conclude`."""

_BUSY = Standing(False, 0)


class Holder(Protocol):
    """The leader's own work, which is asked about like everybody else's."""

    ended: bool

    def standing(self) -> Standing:
        """How it stands."""
        ...

    async def settled(self) -> Standing:
        """The same, as soon as it is passive, or in a moment."""
        ...


async def lead(me: int, holder: Holder, peers: dict[int, Peer], succession: Succession, patience: float) -> None:
    """Wait for the turn to lead, then ask everybody until it is over for all; then it is over for the leader.

    A peer that doesn't agree in the end still takes another one for the leader, or hears from one whom this leader
    can't reach. It is asked again, but not for longer than `patience`: it will find its own end.
    """
    clock = asyncio.get_running_loop().time
    waves, left, limit = Waves(), dict(peers), float("inf")
    while not holder.ended or (left and clock() < limit):
        while (wait := succession.turn() - clock()) > 0:
            await asyncio.sleep(wait)
        wave = await _wave(me, holder, left, patience)
        if waves.over(wave) and wave[me] == holder.standing():
            holder.ended, limit = True, min(limit, clock() + patience)
            left = await _tell(left, wave)
        left = {i: peer for i, peer in left.items() if not peer.gone}


async def _wave(me: int, holder: Holder, peers: dict[int, Peer], patience: float) -> dict[int, Standing]:
    """How everybody stands. A peer that doesn't answer counts as busy until it counts as gone.

    It gets half of `patience` to answer, so that the others keep hearing from their leader.
    """
    mine, *others = await asyncio.gather(holder.settled(), *(_probe(peer, patience / 2) for peer in peers.values()))
    if _BUSY in others:
        await asyncio.sleep(PAUSE)
    return {me: mine, **dict(zip(peers, others, strict=True))}


async def _probe(peer: Peer, timeout: float) -> Standing:
    answer = await peer.call("Probe", b"", timeout)
    try:
        return _BUSY if answer is None else Standing.from_bytes(answer)
    except ProtocolError as error:
        peer.leave(str(error))
        return _BUSY


async def _tell(peers: dict[int, Peer], wave: dict[int, Standing]) -> dict[int, Peer]:
    """Tell everybody that it is over; those who don't agree remain."""
    agreed = await asyncio.gather(*(_conclude(peer, wave[i]) for i, peer in peers.items()))
    if not all(agreed):
        await asyncio.sleep(PAUSE)
    return {i: peer for (i, peer), yes in zip(peers.items(), agreed, strict=True) if not yes}


async def _conclude(peer: Peer, standing: Standing) -> bool:
    try:
        return await peer.ask("Conclude", standing.to_bytes()) == AGREED
    except UnreachableError:
        return False
