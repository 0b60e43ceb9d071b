"""Train vectors, by SkipGram on walks or by a spectral embedding, and keep them as an `Embedding`."""

from fedwalk.embedding.embedding import Embedding

__all__ = ["Embedding"]
