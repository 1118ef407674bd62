"""Search: the best items of a gallery for each query."""

from equiview.search.topk import best, ranks_within, score_blocks, top_k, unit


def comparable(encoder, items, progress=None):
    from equiview.data.progress import silent

    vectors = encoder.embed(items, progress or silent)
    return unit(vectors) if encoder.similarity == "cosine" else vectors


__all__ = ["best", "comparable", "ranks_within", "score_blocks", "top_k", "unit"]
