"""Kernels of the two-dimensional layout: points to a grid and back, and the attraction along weighted edges.

A point and the grid exchange values by cubic Lagrange interpolation: four nodes per axis, the point between the two
inner ones.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedwalk.kernels.jit import inlined_kernel, kernel

Floats = NDArray[np.float32]
NODES = 4


@inlined_kernel
def _weights(position: Any, out: Any) -> None:
    """The weights of four consecutive nodes for a point this far (0 … 1) behind the second of them."""
    a, b, c, d = position + 1, position, position - 1, position - 2
    out[0] = -b * c * d / 6
    out[1] = a * c * d / 2
    out[2] = -a * b * d / 2
    out[3] = a * b * c / 6


@kernel
def spread(places: Floats, low: Floats, spacing: float, grid: Floats) -> None:
    """Add a unit charge per point to the grid, whose node (1, 1) lies at `low`."""
    across, down = np.empty(NODES, np.float32), np.empty(NODES, np.float32)
    for i in range(places.shape[0]):
        x, y = (places[i, 0] - low[0]) / spacing, (places[i, 1] - low[1]) / spacing
        column, row = int(x), int(y)
        _weights(np.float32(x - column), across)
        _weights(np.float32(y - row), down)
        for a in range(NODES):
            for b in range(NODES):
                grid[column + a, row + b] += across[a] * down[b]


@kernel
def gather(places: Floats, low: Floats, spacing: float, fields: Floats, out: Floats) -> None:
    """The two fields at each point."""
    across, down = np.empty(NODES, np.float32), np.empty(NODES, np.float32)
    for i in range(places.shape[0]):
        x, y = (places[i, 0] - low[0]) / spacing, (places[i, 1] - low[1]) / spacing
        column, row = int(x), int(y)
        _weights(np.float32(x - column), across)
        _weights(np.float32(y - row), down)
        first, second = np.float32(0), np.float32(0)
        for a in range(NODES):
            for b in range(NODES):
                weight = across[a] * down[b]
                first += weight * fields[0, column + a, row + b]
                second += weight * fields[1, column + a, row + b]
        out[i, 0], out[i, 1] = first, second


@kernel
def own_potential(places: Floats, low: Floats, spacing: float) -> float:
    """The sum over all points of 1/(1 + d²) between a point's own nodes, weighted: about 1 for each."""
    weights, products = np.empty(NODES, np.float32), np.empty((2, NODES))
    total = 0.0
    for i in range(places.shape[0]):
        for axis in range(2):
            position = (places[i, axis] - low[axis]) / spacing
            _weights(np.float32(position - int(position)), weights)
            for lag in range(NODES):
                products[axis, lag] = 0.0
                for a in range(NODES - lag):
                    # A pair of different nodes counts in both directions.
                    products[axis, lag] += weights[a] * weights[a + lag] * (2 if lag else 1)
        for a in range(NODES):
            for b in range(NODES):
                total += products[0, a] * products[1, b] / (1 + (a * a + b * b) * spacing * spacing)
    return total


@kernel
def attract(places: Floats, starts: Any, others: Any, weights: Floats, out: Floats) -> None:
    """Σ w · (other − own) / (1 + distance²) for each point, over its entries in a sparse matrix in CSR form."""
    for i in range(places.shape[0]):
        x, y = places[i, 0], places[i, 1]
        first, second = np.float32(0), np.float32(0)
        for k in range(starts[i], starts[i + 1]):
            across, down = places[others[k], 0] - x, places[others[k], 1] - y
            pull = weights[k] / (np.float32(1) + across * across + down * down)
            first += pull * across
            second += pull * down
        out[i, 0], out[i, 1] = first, second


@kernel
def move(places: Floats, force: Floats, speed: Floats, gain: Floats, momentum: float, rate: float) -> None:
    """One step of gradient descent with momentum and a gain per coordinate (van der Maaten's): in place."""
    for i in range(places.shape[0]):
        for axis in range(2):
            same = force[i, axis] * speed[i, axis] > 0
            grown = gain[i, axis] + np.float32(0.2) if same else gain[i, axis] * np.float32(0.8)
            gain[i, axis] = max(grown, np.float32(0.01))
            speed[i, axis] = momentum * speed[i, axis] + rate * gain[i, axis] * force[i, axis]
            places[i, axis] += speed[i, axis]
