"""Subjects: what is audited. How to add one is said in `equiview.subjects.base`."""

from equiview.subjects.base import SUBJECTS, Subject, register
from equiview.subjects.chat.base import Answerer
from equiview.subjects.encoders.base import EmbeddingModel, Encoder, checked_vectors
from equiview.subjects.lists.base import ResultLists
from equiview.subjects.load import load_subject

__all__ = [
    "SUBJECTS",
    "Answerer",
    "EmbeddingModel",
    "Encoder",
    "ResultLists",
    "Subject",
    "checked_vectors",
    "load_subject",
    "register",
]
