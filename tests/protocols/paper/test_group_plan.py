"""Vertices are assigned to bins evenly and at random, and the default number of bins is ⌊ln n⌋."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fedwalk.errors import SettingsError
from fedwalk.privacy.randomness import SimulatedRandomness
from fedwalk.protocols.paper.group_plan import default_bins, group_plan


@settings(deadline=None)
@given(st.integers(1, 80), st.integers(1, 80), st.integers(0, 2**40))
def test_bins_are_balanced_and_none_is_empty(vertices: int, k: int, seed: int) -> None:
    if k > vertices:
        with pytest.raises(SettingsError, match="every bin needs a vertex"):
            group_plan(vertices, k, SimulatedRandomness(seed))
        return
    sizes = np.bincount(group_plan(vertices, k, SimulatedRandomness(seed)), minlength=k)
    assert len(sizes) == k
    assert sizes.min() >= 1
    assert sizes.max() - sizes.min() <= 1


def test_every_vertex_is_equally_likely_in_every_bin() -> None:
    plans = np.array([group_plan(12, 3, SimulatedRandomness(seed)) for seed in range(3000)])
    for vertex in range(12):
        assert stats.chisquare(np.bincount(plans[:, vertex], minlength=3)).pvalue > 1e-4


@pytest.mark.parametrize(("vertices", "bins"), [(1, 1), (2, 1), (8, 2), (10_312, 9), (80_513, 11)])
def test_default_is_the_largest_whole_number_up_to_ln_n(vertices: int, bins: int) -> None:
    assert default_bins(vertices) == bins
