"""Subjects: what is audited. Encoders here; how to add one is said in `equiview.subjects.base`."""

from equiview.subjects.base import ENCODERS, Encoder, Subject, checked_vectors, encoder, load_encoder
from equiview.subjects.finished import ResultLists

__all__ = ["ENCODERS", "Encoder", "ResultLists", "Subject", "checked_vectors", "encoder", "load_encoder"]
