"""Result lists scored by name, as their owners have them: dictionaries, tables or files of TREC."""

from equiview.scoring.measures import evaluate
from equiview.scoring.sums import Sums, merged, partial_sums

__all__ = ["Sums", "evaluate", "merged", "partial_sums"]
