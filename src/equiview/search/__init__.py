"""Search: the best items of a gallery for each query. It knows vectors, and no model."""

from equiview.search.approximate import Index, approximate_top_k
from equiview.search.candidates import by_distance, top_k_among
from equiview.search.pairs import pair_scores
from equiview.search.scaling import comparable, comparable_parts, ready, unit
from equiview.search.sharded import Block, per_block, ranked_within, top_k
from equiview.search.targets import Targets
from equiview.search.topk import ahead_within, best, deciding_blocks, ranks_within, score_blocks

__all__ = [
    "Block",
    "Index",
    "Targets",
    "ahead_within",
    "approximate_top_k",
    "best",
    "by_distance",
    "comparable",
    "comparable_parts",
    "deciding_blocks",
    "pair_scores",
    "per_block",
    "ranked_within",
    "ranks_within",
    "ready",
    "score_blocks",
    "top_k",
    "top_k_among",
    "unit",
]
