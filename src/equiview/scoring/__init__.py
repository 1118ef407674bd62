"""Result lists scored by name, as their owners have them: dictionaries, tables or files of TREC."""

from equiview.scoring.measures import evaluate

__all__ = ["evaluate"]
