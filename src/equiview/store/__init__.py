"""The store: what a model computed is kept on disk, so that another audit does not compute it again."""

from equiview.store.answerer import StoredAnswerer, stored_answers
from equiview.store.answers import Answers, AnswerStore
from equiview.store.copies import Copies
from equiview.store.encoder import StoredEncoder, stored
from equiview.store.readable import readable_part
from equiview.store.vectors import Store

__all__ = [
    "AnswerStore",
    "Answers",
    "Copies",
    "Store",
    "StoredAnswerer",
    "StoredEncoder",
    "readable_part",
    "stored",
    "stored_answers",
]
