"""The store: what a model computed is kept on disk, so that another audit does not compute it again."""

from equiview.store.answerer import StoredAnswerer, stored_answers
from equiview.store.answers import Answers
from equiview.store.encoder import readable_part, stored
from equiview.store.vectors import Store

__all__ = ["Answers", "Store", "StoredAnswerer", "readable_part", "stored", "stored_answers"]
