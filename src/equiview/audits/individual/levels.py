"""How similar captions are to their own image and to all others, and how far captions of one language differ.

Two captions of one language and one image say it in different words. How far these move similarity is what
any two captions do; what captions in two languages do beyond that is language.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import permutations

import numpy as np
import polars as pl
from threadpoolctl import threadpool_limits

from equiview.audits.individual.pairs import Block, Floats


class Levels:
    """Similarities of captions, taken in block by block.

    `total`, `(width,)`, is the sum of the directions of all `n_images` images, from which the mean similarity
    of a caption to all wrong images follows without comparing it with each.
    """

    def __init__(self, languages: Sequence[str], n_slots: int, n_images: int, total: Floats) -> None:
        self.languages = np.asarray(languages)
        self.total = total
        self._own = np.full((n_slots, len(languages), n_images), np.nan)
        self._others = self._own.copy()

    def add(self, block: Block) -> None:
        """Take in the captions of a block; its images must be `matched`."""
        own = np.where(block.exists, block.similarity("matched"), np.nan)
        self._own[block.slot][:, block.images] = own
        n_others = self._own.shape[-1] - 1
        with threadpool_limits(1, user_api="blas"):  # the last digits depend on the number of threads
            together = block.units @ self.total
        self._others[block.slot][:, block.images] = (together - own) / n_others

    def table(self, query_ids: pl.Series) -> pl.DataFrame:
        """A row for each language of each image that is captioned in two or more."""
        exists = ~np.isnan(self._own)
        compared = exists.any(axis=0) & (exists.any(axis=0).sum(axis=0) >= 2)
        language, image = np.nonzero(compared)
        same, apart = gaps_of_slots(self._own)
        columns = {
            "captions": exists.sum(axis=0),
            "similarity": _mean(self._own),
            "others": _mean(self._others),
            "same": same,
            "apart": apart,
        }
        return pl.DataFrame(
            {
                "query_id": query_ids[image],
                "language": self.languages[language],
                **{name: table[language, image] for name, table in columns.items()},
            }
        ).with_columns(pl.col("same", "apart").fill_nan(None))


def gaps_of_slots(similarities: Floats) -> tuple[Floats, Floats]:
    """Mean gap between captions in different slots, of one language and of two.

    `similarities` is `(n_slots, n_languages, n_images)`, nan where there is no caption. Returns (same,
    apart), each `(n_languages, n_images)`: the mean over pairs of captions of the language, and the mean over
    the other languages. Languages with a single caption of an image take no part, so that both are of the
    same captions; nan where nothing is left. Were captions of one slot compared too, translations, which
    share slots, would seem nearer than any two captions of one language can be.

    English .5 and .6, German .3 and .4: the German second is .1 from the English first, and so on.

    >>> same, apart = gaps_of_slots(np.array([[[0.5], [0.3]], [[0.6], [0.4]]]))
    >>> same.round(3).tolist(), apart.round(3).tolist()
    ([[0.1], [0.1]], [[0.2], [0.2]])
    """
    n_slots, n_languages, n_images = similarities.shape
    several = (~np.isnan(similarities)).sum(axis=0) >= 2
    kept = np.where(several, similarities, np.nan)
    same, apart = np.full((2, n_languages, n_images), np.nan)
    for language in range(n_languages if several.any() else 0):
        pairs = permutations(range(n_slots), 2)
        gaps = np.zeros((n_languages, n_images))
        counts = np.zeros((n_languages, n_images))
        for slot, other in pairs:
            gap = np.abs(kept[slot, language] - kept[other])
            counts += ~np.isnan(gap)
            gaps += np.nan_to_num(gap)
        between = np.divide(gaps, counts, out=np.full_like(gaps, np.nan), where=counts > 0)
        same[language] = between[language]
        apart[language] = _mean(np.delete(between, language, axis=0))
    return same, apart


def _mean(numbers: Floats) -> Floats:
    """Mean over the first axis, nan left out, nan where there is nothing else."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.asarray(np.nanmean(numbers, axis=0))
