"""Termination detection in simulation, under random schedules of hops, answers, crashes and false alarms."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedwalk.errors import ProtocolError
from fedwalk.federation.walking.termination import HolderStatus, LeaderElection, Waves

PATIENCE = 10.0


class Simulated:
    """A holder with tokens as bare numbers: the hops that each has still to make."""

    def __init__(self, me: int, holders: int, tokens: list[int]) -> None:
        self.queue, self.activity = tokens, len(tokens)
        self.under_way: list[tuple[int, int]] = []
        self.alive, self.ended = True, False
        self.election = LeaderElection(me, range(holders), PATIENCE, 0.0)
        self.waves, self.wave = Waves(), dict[int, HolderStatus]()

    @property
    def status(self) -> HolderStatus:
        return HolderStatus(not self.queue and not self.under_way, self.activity)


class World:
    """All holders, the tokens between them, and a clock. `chance` decides what happens next."""

    def __init__(self, holders: int, chance: random.Random) -> None:
        self.chance, self.now = chance, 0.0
        tokens = [[chance.randrange(40) for _ in range(chance.choice([0, 0, 1, 3]))] for _ in range(holders)]
        self.holders = [Simulated(i, holders, tokens[i]) for i in range(holders)]
        hurry = chance.choice([1, 3, 10])
        self.moves = [self.work, self.arrive, self.acknowledge] * hurry + [self.lead] * 2

    def living(self) -> list[int]:
        return [i for i, holder in enumerate(self.holders) if holder.alive]

    def step(self) -> None:
        """One thing happens at one holder."""
        self.now += self.chance.choice([0.0, 0.01, 1.0])
        me = self.chance.choice([i for i in self.living() if not self.holders[i].ended])
        self.chance.choice(self.moves)(me)

    def work(self, me: int) -> None:
        holder = self.holders[me]
        if holder.queue and (hops := holder.queue.pop()):
            holder.under_way.append((self.chance.randrange(len(self.holders)), hops - 1))
            holder.activity += 1

    def arrive(self, me: int) -> None:
        """The token that has been under way longest is taken in; it stays under way until that is acknowledged."""
        holder = self.holders[me]
        if holder.under_way and holder.under_way[0][1] >= 0:
            to, hops = holder.under_way[0]
            receiver = self.holders[to]
            if receiver.alive:
                assert not receiver.ended, "a living holder's token came after the end"
                receiver.queue.append(hops)
                receiver.activity += 1
            holder.under_way[0] = (to, -1)

    def acknowledge(self, me: int) -> None:
        """Also when the receiver is dead: then the token is given up."""
        holder = self.holders[me]
        if holder.under_way and holder.under_way[0][1] < 0:
            holder.under_way.pop(0)

    def lead(self, me: int) -> None:
        """Ask one more of those who have not been asked in this wave; after the last one, look at the wave."""
        holder = self.holders[me]
        if holder.election.leader(self.now) != me:
            return
        if missing := [i for i in self.living() if i not in holder.wave]:
            asked = self.chance.choice(missing)
            self.holders[asked].election.record_probe(me, self.now)
            holder.wave[asked] = self.holders[asked].status
            return
        wave, holder.wave = {i: holder.wave[i] for i in self.living()}, {}
        if holder.waves.terminated(wave):
            self.conclude(me)

    def conclude(self, me: int) -> None:
        for i in self.living():
            assert not self.holders[i].queue, f"{me} concludes while {i} has work"
            assert not self.holders[i].under_way, f"{me} concludes while a token of {i} is under way"
            if i == me or self.holders[i].election.leader(self.now) == me:
                self.holders[i].ended = True

    def over(self) -> bool:
        return all(self.holders[i].ended for i in self.living())


@settings(max_examples=300, deadline=None)
@given(holders=st.integers(1, 5), seed=st.integers(0, 2**32), deadly=st.floats(0, 0.02))
def test_the_end_is_detected_after_the_last_token_under_any_schedule_and_crashes(
    holders: int, seed: int, deadly: float
) -> None:
    chance = random.Random(seed)
    world = World(holders, chance)
    for _ in range(20_000):
        world.step()
        if len(world.living()) > 1 and chance.random() < deadly:
            world.holders[chance.choice(world.living())].alive = False
        if world.over():
            return
    pytest.fail("it never ends")


def test_one_quiet_wave_is_not_enough() -> None:
    # A token passes from 0 to 1 behind the leader's back: each was passive when asked, and one token is alive.
    waves = Waves()
    assert not waves.terminated({0: HolderStatus(True, 1), 1: HolderStatus(True, 0)})
    assert not waves.terminated({0: HolderStatus(True, 1), 1: HolderStatus(True, 1)})
    assert waves.terminated({0: HolderStatus(True, 1), 1: HolderStatus(True, 1)})


def test_a_busy_holder_prevents_the_end_although_its_status_never_changes() -> None:
    waves = Waves()
    assert not any(waves.terminated({0: HolderStatus(False, 1)}) for _ in range(5))


def test_the_lowest_holder_leads_at_once_and_the_others_after_their_patience() -> None:
    first, third = (LeaderElection(me, range(4), PATIENCE, 0.0) for me in (0, 2))
    assert first.turn() < 0
    assert first.leader(0.0) == 0
    assert third.turn() == PATIENCE
    assert third.leader(9.9) == 0
    assert third.leader(PATIENCE) == 2


def test_probes_of_higher_holders_are_ignored_and_a_lower_one_leads_again() -> None:
    third = LeaderElection(2, range(4), PATIENCE, 0.0)
    third.record_probe(3, 11.0)
    assert third.leader(12.0) == 2
    third.record_probe(1, 13.0)
    assert third.leader(14.0) == 1
    third.record_probe(0, 15.0)
    assert third.leader(16.0) == 0
    assert third.turn() == 15.0 + PATIENCE


@pytest.mark.parametrize("data", [b"", bytes(8), bytes(10)])
def test_a_status_of_the_wrong_size_is_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError, match="9 bytes"):
        HolderStatus.from_bytes(data)
