"""Search: the best items of a gallery for each query. It knows vectors, and no model."""

from equiview.search.candidates import top_k_among
from equiview.search.pairs import pair_scores
from equiview.search.scaling import comparable, comparable_parts, ready, unit
from equiview.search.topk import ahead_within, best, ranks_within, score_blocks, top_k
from equiview.search.within import Chosen, lists_and_ranks

__all__ = [
    "Chosen",
    "ahead_within",
    "best",
    "comparable",
    "comparable_parts",
    "lists_and_ranks",
    "pair_scores",
    "ranks_within",
    "ready",
    "score_blocks",
    "top_k",
    "top_k_among",
    "unit",
]
