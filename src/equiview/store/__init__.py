"""The store: what a model computed is kept on disk, so that another audit does not compute it again."""

from equiview.store.answers import Answers
from equiview.store.encoder import readable_part, stored
from equiview.store.vectors import Store

__all__ = ["Answers", "Store", "readable_part", "stored"]
