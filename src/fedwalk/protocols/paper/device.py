"""A device of protocol `paper`: the part of Algorithms 1 and 2 that uses one vertex's neighbour list."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import ProtocolError
from fedwalk.kernels.alias import alias_entries, weighted_neighbour
from fedwalk.kernels.random import WALK, below, uniform
from fedwalk.kernels.walk import CHOOSE, DRAWS, ENCODE, SECOND, TRIGGER
from fedwalk.privacy.randomness import Randomness
from fedwalk.protocols.paper.degree_vectors import degree_matrix, degree_vector
from fedwalk.protocols.paper.encoder import EncoderTable
from fedwalk.protocols.paper.messages import (
    DegreeMatrix,
    DegreeVector,
    Dictionary,
    GroupPlan,
    Sequence,
    Start,
    Token,
    TreeTable,
)
from fedwalk.protocols.paper.predictors import find_predictor


class Device:
    """One vertex, its neighbour list, and what it has received.

    The weights of its edges, if there are any, decide only where it sends walks; they are never sent themselves.
    """

    def __init__(
        self,
        identity: int,
        neighbours: NDArray[np.int32],
        randomness: Randomness,
        weights: NDArray[np.float64] | None = None,
    ) -> None:
        self.identity = identity
        self._neighbours = neighbours
        self._randomness = randomness
        bounds = np.array([0, neighbours.size])
        self._entries = None if weights is None else alias_entries(bounds, neighbours, weights)
        self._encoder: EncoderTable | None = None

    def degree_vector(self, plan: GroupPlan) -> DegreeVector:
        """Device operation 1: count the neighbours per bin and add noise."""
        vector = degree_vector(self.identity, self._neighbours, plan.bins, plan.k, plan.epsilon, self._randomness)
        return DegreeVector(self.identity, vector)

    def degree_matrix(self, dictionary: Dictionary) -> DegreeMatrix:
        """Device operation 2: stack the neighbours' vectors in the order of their estimated degrees."""
        return DegreeMatrix(self.identity, degree_matrix(self._neighbours, dictionary.vectors))

    def learn(self, table: TreeTable, tables: Any) -> None:
        """Store the encoder's table, and the predictor's tables, which are computed from public values."""
        self._encoder, self._burst = table.encoder, table.burst
        self._predictor, self._tables = find_predictor(table.predictor), tables

    def begin(self, start: Start) -> Token | Sequence:
        """Start a walk here, with an empty sequence."""
        token = Token(self.identity, start.walk, start.length, start.epsilon, start.predict, ())
        return self.visit(token)

    def visit(self, token: Token) -> Token | Sequence:
        """Algorithm 1, device operation: write one entry or a burst, and send the walk on."""
        if self._encoder is None:
            raise ProtocolError(f"device {self.identity}: a walk arrived before the tree and the encoder table.")
        if token.device != self.identity or token.remaining < 1:
            raise ProtocolError(
                f"device {self.identity}: a token for device {token.device} with {token.remaining} entries to go."
            )
        entries = list(token.entries)
        # The walk moves to true vertices; only what is written into the sequence passes through the encoder.
        target = self._choose(self._draw(token, len(entries), CHOOSE))
        room = self._room(token, len(entries))
        self._write(token, entries, target)
        for _ in range(room - 1):
            bits = self._draw(token, len(entries), CHOOSE)
            more = self._draw(token, len(entries), SECOND)
            further = self._predictor.extend(self._tables, self._neighbours, target, bits, more)
            # The predictor found no continuation: the burst ends early.
            if further < 0:
                break
            target = int(further)
            self._write(token, entries, target)
        remaining = token.remaining - (len(entries) - len(token.entries))
        if remaining == 0:
            return Sequence(token.walk, tuple(entries))
        return Token(target, token.walk, remaining, token.epsilon, token.predict, tuple(entries))

    def _choose(self, bits: np.uint64) -> int:
        """A neighbour: all alike, or in proportion to the weights."""
        if self._entries is not None:
            return weighted_neighbour(self._entries, bits)
        return int(self._neighbours[below(bits, self._neighbours.size)])

    def _room(self, token: Token, position: int) -> int:
        """How many entries this visit may write: a burst if the predictor is triggered, else one."""
        triggered = uniform(self._draw(token, position, TRIGGER)) < token.predict
        if triggered and token.remaining >= self._predictor.min_remaining:
            return min(self._burst, token.remaining)
        return 1

    def _write(self, token: Token, entries: list[int], vertex: int) -> None:
        """Append the vertex, encoded."""
        assert self._encoder is not None
        x = uniform(self._draw(token, len(entries), ENCODE))
        entries.append(self._encoder.encode(vertex, x))

    def _draw(self, token: Token, position: int, purpose: int) -> np.uint64:
        # Draws are named by walk and position, so that `local` draws the same bits in any order.
        return self._randomness.bits(WALK, token.walk, DRAWS * position + purpose)
