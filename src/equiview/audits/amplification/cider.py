"""CIDEr-D of each caption, by pycocoevalcap's scorer (Vedantam, Zitnick and Parikh, CVPR 2015)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equiview.audits.amplification.captions import tokens
from equiview.errors import InputError
from equiview.extras import require


def cider(
    replies: Sequence[str], references: Sequence[Sequence[str]], language: str = "en"
) -> NDArray[np.float64]:
    """CIDEr-D of each caption to the human captions of its image, `(n,)` from 0 to 10.

    The weight of a word is its IDF over images: over all images that are passed, not those of one group of
    people.

    Raises InputError for fewer than two images, which give no IDF, or an image without a human
    caption, and where pycocoevalcap is not installed.
    """
    if len(replies) < 2 or not all(references):
        raise InputError("CIDEr needs two images or more, each with a human caption")
    scorer: Any = require("pycocoevalcap.cider.cider_scorer", "captions").CiderScorer()
    for reply, humans in zip(replies, references, strict=True):
        scorer += (_joined(reply, language), [_joined(text, language) for text in humans])
    _, scores = scorer.compute_score()
    return np.asarray(scores, dtype=np.float64)


def _joined(text: str, language: str) -> str:
    return " ".join(tokens(text, language))
