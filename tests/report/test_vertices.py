"""The map's data: every vertex in one group, coordinates that survive their packing."""

import base64
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from fedwalk.graph import Labels
from fedwalk.report.map.vertices import NUM_COLOURS, SHAPES, carried, group_by_label, pack, quantise


def labelled(rows: list[list[int]], count: int) -> Labels:
    indicator = np.zeros((len(rows), count))
    for vertex, labels in enumerate(rows):
        indicator[vertex, labels] = 1
    return Labels(sparse.csr_array(indicator), tuple(f"l{i}" for i in range(count)))


def test_a_vertex_has_the_colour_of_its_rarest_frequent_label() -> None:
    group, groups = group_by_label(labelled([[0], [0, 1], [0, 1], [2], [2], [0], []], 3), 7)
    assert [(g.name, g.count, g.style) for g in groups] == [
        ("l0", 2, "0"),
        ("l1", 2, "1"),
        ("l2", 2, "2"),
        ("no label", 1, "none"),
    ]
    assert group.tolist() == [0, 1, 1, 2, 2, 0, 3]


def test_labels_beyond_the_colours_are_others() -> None:
    rows = [[i] for i in range(NUM_COLOURS + 2) for _ in range(NUM_COLOURS + 3 - i)]
    group, groups = group_by_label(labelled(rows, NUM_COLOURS + 2), len(rows))
    assert [g.style for g in groups] == [*map(str, range(NUM_COLOURS)), "other"]
    assert groups[-1].count == 3 + 2
    assert np.bincount(group).tolist() == [g.count for g in groups]


@given(st.lists(st.lists(st.integers(0, 15), max_size=4), min_size=1, max_size=40))
def test_every_vertex_is_in_one_group_that_it_belongs_to(rows: list[list[int]]) -> None:
    group, groups = group_by_label(labelled(rows, 16), len(rows))
    assert sum(g.count for g in groups) == len(rows)
    for vertex, labels in enumerate(rows):
        own = groups[group[vertex]]
        if own.style.isdigit():
            assert own.name in {f"l{label}" for label in labels}
        else:
            assert own.style == ("other" if labels else "none")


def test_without_labels_all_are_alike() -> None:
    group, groups = group_by_label(None, 4)
    assert (group.tolist(), [(g.count, g.style) for g in groups]) == ([0] * 4, [(4, "0")])


def test_the_labels_of_each_vertex_are_listed() -> None:
    assert carried(labelled([[2, 0], [], [1]], 3)) == [[0, 2], [], [1]]


def test_every_second_colour_or_so_has_another_shape() -> None:
    _, groups = group_by_label(labelled([[i] for i in range(NUM_COLOURS)], NUM_COLOURS), NUM_COLOURS)
    assert {g.shape for g in groups} == set(SHAPES)
    assert all(a.shape != b.shape for a, b in pairwise(groups))


@given(arrays(np.float64, (12, 2), elements=st.floats(-1e3, 1e3, width=32)))
def test_places_are_kept_to_sixteen_bits_without_distortion(
    places: np.ndarray[tuple[int, int], np.dtype[np.float64]],
) -> None:
    small = quantise(places).astype(np.float64)
    reach = np.ptp(places, axis=0).max() / 2
    restored = small / 32767 * (reach or 1) + (places.min(axis=0) + places.max(axis=0)) / 2
    assert np.allclose(restored, places, atol=max(reach, 1e-9) / 30000)


def test_numbers_are_packed_with_the_small_end_first() -> None:
    assert base64.b64decode(pack(np.array([1, -2]), "<i2")) == b"\x01\x00\xfe\xff"
