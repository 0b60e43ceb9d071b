"""Alias entries hold exactly the weights, and one draw serves for place and coin."""

from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from fedwalk.kernels.alias import alias_entries, locate, pick, weighted_neighbour
from fedwalk.kernels.random import below

Weights = NDArray[np.float64]
weights = st.lists(st.floats(1e-12, 1e12) | st.sampled_from([1e-12, 1.0, 1e12]), min_size=1, max_size=40)


def entries_of(row: Weights) -> NDArray[np.void]:
    """The entries of one device, whose neighbours are 100, 101, …"""
    return alias_entries(np.array([0, row.size]), np.arange(100, 100 + row.size, dtype=np.int32), row)


def shares(entries: NDArray[np.void]) -> Weights:
    """The chance of each neighbour that the entries imply, computed exactly: every place alike, then its cut."""
    chances: defaultdict[int, Fraction] = defaultdict(Fraction)
    for cut, own, other in entries.tolist():
        chances[own] += Fraction(cut) / entries.size
        chances[other] += (1 - Fraction(cut)) / entries.size
    return np.array([float(chances[100 + j]) for j in range(entries.size)])


@given(weights)
@example([3.0])
@example([1e-12, 1e12])
@example([1e12, 1e-12, 1e-12, 1e12])
@example([0.1] * 40)
@example([5e-324, 1.7e308])
def test_entries_give_each_neighbour_its_share_of_the_weights(values: list[float]) -> None:
    entries = entries_of(np.array(values))
    assert ((entries["cut"] >= 0) & (entries["cut"] <= 1)).all()
    total = sum(map(Fraction, values))
    np.testing.assert_allclose(shares(entries), [float(Fraction(value) / total) for value in values], rtol=0, atol=1e-9)


def test_a_light_neighbour_among_many_keeps_its_small_share() -> None:
    row = np.full(1000, 1e6)
    row[17] = 1e-6
    assert shares(entries_of(row))[17] == pytest.approx(1e-12 / 999, rel=1e-9)


def test_long_rows_of_unequal_weights_are_exact() -> None:
    row = np.random.default_rng(0).random(20_000) ** 20
    np.testing.assert_allclose(shares(entries_of(row)), row / row.sum(), rtol=0, atol=1e-13)


@given(st.floats(1e-300, 1e300), st.integers(1, 50))
def test_equal_weights_never_use_an_alias(value: float, size: int) -> None:
    assert (entries_of(np.full(size, value))["cut"] == 1).all()


@given(weights, st.integers(-60, 60))
def test_a_factor_that_is_a_power_of_two_changes_no_bit(values: list[float], power: int) -> None:
    row = np.array(values)
    assert entries_of(row).tobytes() == entries_of(np.ldexp(row, power)).tobytes()


def test_entries_of_a_row_do_not_depend_on_the_other_rows() -> None:
    rng = np.random.default_rng(1)
    indptr = np.array([0, 3, 3, 10, 11])
    indices, row = rng.permutation(11).astype(np.int32), rng.lognormal(sigma=3, size=11)
    together = alias_entries(indptr, indices, row)
    for low, high in ((0, 3), (3, 10), (10, 11)):
        alone = alias_entries(np.array([0, high - low]), indices[low:high], row[low:high])
        assert together[low:high].tobytes() == alone.tobytes()


@given(st.integers(0, 2**64 - 1), st.integers(1, 2**31))
@example(2**64 - 1, 2**31)
@example(2**64 - 1, 3)
def test_the_place_is_that_of_an_unweighted_step_and_the_coin_is_below_one(bits: int, size: int) -> None:
    place, coin = locate(np.uint64(bits), size)
    assert place == below(np.uint64(bits), size)
    assert 0 <= coin < 1


@given(st.integers(2, 2**31), st.floats(0, 1), st.data())
def test_the_chance_of_place_and_coin_is_exact_to_2_to_the_minus_51(size: int, cut: float, data: st.DataObject) -> None:
    """Both rise with the bits, so the words that give them are consecutive: bisection counts them."""
    place = data.draw(st.integers(0, size - 1))

    def first_from(at: int, coin: float) -> int:
        """The first of the 2⁵³ uniform numbers that isn't before this place and coin."""
        low, high = 0, 2**53
        while low < high:
            middle = (low + high) // 2
            if locate(np.uint64(middle << 11), size) < (at, coin):
                low = middle + 1
            else:
                high = middle
        return low

    chance = Fraction(first_from(place, cut) - first_from(place, 0.0), 2**53)
    assert abs(chance - Fraction(cut) / size) < Fraction(1, 2**51)


def test_a_device_chooses_as_place_and_coin_say() -> None:
    entries = entries_of(np.array([1.0, 2.0, 5.0]))
    for bits in np.random.default_rng(2).integers(0, 2**64, 100, np.uint64):
        assert weighted_neighbour(entries, bits) == pick(entries, *locate(bits, 3))
