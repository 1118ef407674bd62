"""Search: the best items of a gallery for each query."""

from equiview.search.topk import best, ranks_within, score_blocks, top_k, unit

__all__ = ["best", "ranks_within", "score_blocks", "top_k", "unit"]
