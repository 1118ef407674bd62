"""Subjects: what is audited. Encoders here; how to add one is said in `equiview.subjects.base`."""

from equiview.subjects.base import ENCODERS, Encoder, checked_vectors, encoder, load_encoder

__all__ = ["ENCODERS", "Encoder", "checked_vectors", "encoder", "load_encoder"]
