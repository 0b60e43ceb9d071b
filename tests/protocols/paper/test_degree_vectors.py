"""Degree vectors and matrices: the noise's distribution, and the order and meaning of a matrix's rows."""

import numpy as np
from scipy import stats

from fedwalk.graph import social_network
from fedwalk.privacy.randomness import SimulatedRandomness
from fedwalk.protocols.paper.degree_vectors import DegreeMatrices, degree_matrix, degree_vector, estimated_degrees
from helpers.simulation import GRAPHS, federation


def test_noise_on_the_counts_is_laplace_with_scale_one_over_epsilon() -> None:
    # Goodness of fit with a false-alarm rate of 1e-3.
    graph = social_network(vertices=800, mean_degree=10, communities=4, seed=0)
    for epsilon in (0.5, 4.0):
        fed = federation(graph, epsilon=epsilon, num_bins=6)
        counts = np.array([np.bincount(fed.plan.bins[graph.neighbours(v)], minlength=6) for v in range(800)])
        noise = (fed.vectors - counts).ravel()
        assert stats.kstest(noise, stats.laplace(scale=1 / epsilon).cdf).pvalue > 1e-3


def test_array_path_and_one_device_release_the_same_vectors_and_matrices() -> None:
    for graph in GRAPHS.values():
        fed = federation(graph, seed=5)
        for v in range(graph.vertices):
            own = graph.neighbours(v)
            vector = degree_vector(v, own, fed.plan.bins, fed.plan.k, fed.plan.epsilon, SimulatedRandomness(5))
            assert vector.tobytes() == fed.vectors[v].tobytes()
            assert degree_matrix(own, fed.vectors).tobytes() == fed.matrices[v].tobytes()


def test_matrix_rows_ascend_by_estimated_degree() -> None:
    fed = federation(GRAPHS["communities"])
    for v in range(len(fed.matrices)):
        degrees = estimated_degrees(fed.matrices[v])
        assert (np.diff(degrees) >= 0).all()
        assert len(degrees) == fed.graph.degrees[v]


def test_equal_estimated_degrees_are_ordered_by_lower_id() -> None:
    dictionary = np.array([[3, 0], [0, 3], [1, 1], [2, 1]], np.float32)
    rows = degree_matrix(np.array([0, 1, 2, 3], np.int32), dictionary)
    assert rows.tolist() == [[1, 1], [3, 0], [0, 3], [2, 1]]


def test_every_row_of_a_matrix_names_one_neighbour() -> None:
    # What the paper overlooks: the rows are the dictionary's own, so they can be matched.
    fed = federation(GRAPHS["communities"])
    owner = {row.tobytes(): v for v, row in enumerate(fed.vectors)}
    for v in range(fed.graph.vertices):
        assert sorted(owner[row.tobytes()] for row in fed.matrices[v]) == fed.graph.neighbours(v).tolist()


def test_stacked_matrices_can_be_taken_apart_again() -> None:
    parts = [np.ones((2, 3), np.float32), np.zeros((1, 3), np.float32)]
    stacked = DegreeMatrices.stack(parts)
    assert len(stacked) == 2
    assert stacked.lengths.tolist() == [2, 1]
    assert np.array_equal(stacked[0], parts[0])
    assert np.array_equal(stacked[1], parts[1])
