"""The images' space as it was kept, and what would be observed in a part of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.audits.social.observe import AHEAD, rankings
from equiview.audits.social.settings import SocialSettings
from equiview.data.observations import Observations
from equiview.errors import InputError
from equiview.io.progress import silent
from equiview.search import unit


def images(observations: Observations) -> pl.DataFrame:
    """Each image with its picture, where it was kept, and its first caption."""
    return observations["images"].select("image_id", "picture", words="caption")


def vectors(observations: Observations) -> NDArray[np.float32]:
    """The directions of the images, `(n_images, width)`; InputError where the run did not keep them."""
    return _unpacked(observations["images"]["vector"])


def within(observations: Observations, ids: Sequence[str], settings: SocialSettings) -> Observations:
    """What would be observed of these images alone: the gallery is theirs, R@k is among all candidates."""
    tables = {  # `AHEAD` counts candidates of the whole set
        name: observations[name].filter(pl.col("image_id").is_in(list(ids)))
        for name in ("images", "labels", "matches")
    }
    tables["matches"] = tables["matches"].drop(AHEAD, strict=False)
    prompts = observations["prompts"]
    gallery, asked = _unpacked(tables["images"]["vector"]), _unpacked(prompts["vector"])
    lists, _ = rankings(asked, gallery, prompts["prompt_id"], tables["images"]["image_id"], settings, silent)
    return Observations(tables | {"prompts": prompts, "rankings": lists})


def _unpacked(packed: pl.Series) -> NDArray[np.float32]:
    if packed.null_count():
        raise InputError("the run kept no vectors (setting 'vectors'); run the audit again with it")
    return unit(np.stack([np.frombuffer(content, dtype="<f2") for content in packed]).astype(np.float32))
