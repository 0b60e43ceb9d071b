"""From walks to vectors: the SkipGram trainer, and the Embedding it results in."""

from fedwalk.embedding.embedding import Embedding

__all__ = ["Embedding"]
