"""The store: what a model computed is kept on disk, so that another audit does not compute it again."""

from equiview.store.encoder import readable_part, stored
from equiview.store.vectors import Store

__all__ = ["Store", "readable_part", "stored"]
