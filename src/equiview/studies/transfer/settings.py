"""Settings of the study."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from equiview.data.metric import Quantity, quantity
from equiview.errors import InputError
from equiview.io.refusals import settings_of


class TransferSettings(BaseModel):
    """What a user chooses.

    `attribute` is the key of estimates that says which attribute of people a number is about, and `group` the
    one that names a group; numbers without the attribute's key are put together too. `also` pairs attributes
    that are called differently before and after, as S does with ethnicity and skin tone. `before` and `after`
    are the numbers that are put together, as `METRIC[@K][,KEY=VALUE...]` without the attribute; by default
    the headlines of each audit. `select` is a number by which models are chosen that lie between `least` and
    `most`, as S chooses by accuracy. Correlations within `tolerance` of 0 are none (S, section 4.2: from .3
    on they "can begin to be considered fair").
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    attribute: str = "attribute"
    group: str = "group"
    also: tuple[tuple[str, str], ...] = ()
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    select: str = ""
    least: float = float("-inf")
    most: float = float("inf")
    tolerance: float = Field(default=0.3, gt=0, lt=1)
    panels: int = Field(default=6, ge=1, description="scatter plots drawn, the strongest correlations first")

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> TransferSettings:
        """Settings from what a user gave; InputError says which one is wrong and which there are."""
        settings = settings_of(cls, given)
        for pair in settings.also:
            if not all(pair):
                raise InputError(f"--also {'='.join(pair)!r} is not of the form BEFORE=AFTER")
        return settings


def parsed(text: str) -> Quantity:
    """The quantity that `METRIC[@K][,KEY=VALUE...]` names; InputError where it is not of that form.

    >>> parsed("R@5,direction=image-to-text").label()
    'R@5, image to text direction'
    """
    name, *keys = text.split(",")
    metric, at, k = name.strip().partition("@")
    pairs = [key.strip().partition("=") for key in keys]
    if not metric or (at and not re.fullmatch(r"[0-9]+", k)) or not all(all(pair) for pair in pairs):
        raise InputError(f"{text!r} does not name a number as METRIC[@K][,KEY=VALUE...]")
    return quantity(metric, int(k) if at else None, **{key: value for key, _, value in pairs})
