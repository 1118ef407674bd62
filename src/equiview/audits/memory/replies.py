"""What replies were: in the language asked in or not, described, refused, empty; by language."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import polars as pl

from equiview.audits.estimating import Rows
from equiview.audits.memory.cells import Cells
from equiview.audits.memory.reading import CATEGORIES, SCORED
from equiview.data.estimates import Estimates
from equiview.data.metric import quantity
from equiview.data.observations import Observations
from equiview.data.values import ValueColumn, column
from equiview.stats import combined_interval, mean_interval
from equiview.subjects.chat.spoken import same_language

ADHERENCE, SHARE = "language adherence", "share"


def adheres(descriptions: pl.DataFrame) -> pl.Series:
    """Whether each reply is in the language asked in; null where the detector cannot say, or it is empty."""
    rows = descriptions.select("text", "language", "detected", "known").iter_rows()
    return pl.Series([adherence(*row) for row in rows], dtype=pl.Boolean)


def adherence(text: str, language: str, detected: str | None, known: bool) -> bool | None:
    """Whether a text is in the language asked in; None for unknown languages and empty texts.

    >>> adherence("Ein Turm.", "fr", "de", True), adherence("...", "mi", None, False)
    (False, None)
    """
    return same_language(detected, language) if known and text.strip() else None


def adherence_columns(observations: Observations, cells: Cells) -> Iterator[ValueColumn]:
    """The share of a cell's replies that are in its language, over all languages and in each."""
    descriptions = observations["descriptions"]
    table = descriptions.select("landmark_id", "language", adheres=adheres(descriptions).cast(pl.Float64))
    means = table.group_by("landmark_id", "language", maintain_order=True).agg("adheres")
    shares = {
        (landmark, language): float(np.mean([entry for entry in entries if entry is not None] or [np.nan]))
        for landmark, language, entries in means.iter_rows()
    }
    every = [
        [shares.get((landmark, language), np.nan) for language in cells.languages]
        for landmark in cells.landmarks
    ]
    yield column(ADHERENCE, np.asarray(every).ravel())


def of_replies(observations: Observations) -> Estimates | None:
    """Language adherence and the share of every category, over all replies and in each language.

    Intervals are Wilson's, for the effective number of replies given their variance between landmarks.
    """
    descriptions = observations["descriptions"]
    descriptions = descriptions.with_columns(adheres=adheres(descriptions))
    rows = Rows()
    parts: list[tuple[pl.DataFrame, Mapping[str, str]]] = [(descriptions, {})]
    for (language,), part in descriptions.group_by("language", maintain_order=True):
        parts.append((part, {"language": str(language)}))
    for part, keys in parts:
        detected = part.drop_nulls("adheres")
        _add(rows, ADHERENCE, detected, detected["adheres"], **keys)
        for category in CATEGORIES:
            _add(rows, SHARE, part, part["category"] == category, **keys, category=category)
    cut = observations["scores"].filter(translator="first", scorer="first").drop_nulls("cut")
    _add(rows, "texts cut by the scorer", cut, cut["cut"])
    for (place,), part in observations["translations"].group_by("translator", maintain_order=True):
        _add(rows, "failed translations", part, part["text"].is_null(), translator=str(place))
    return rows.estimates()


def _add(rows: Rows, metric: str, table: pl.DataFrame, holds: pl.Series, **keys: str) -> None:
    """The share of the rows of `table` where `holds` is true; landmarks are clusters."""
    if not len(table):
        return
    clusters = table["landmark_id"].rank("dense").to_numpy().astype(np.int64)
    mean = mean_interval(holds.cast(pl.Float64).to_numpy(), clusters=clusters)
    rows.add_known(quantity(metric, None, **keys), (mean.value, mean.low, mean.high), mean.n)


def unanswered(estimates: Estimates, tolerance: float) -> dict[str, float]:
    """The shares of replies that are refused or empty, of languages that differ from the others in them.

    What is not described has no score, so that no shift is of it; and a place that is not described loses
    the whole margin, of which the tolerance is a share. Named are differences from the mean of the others
    that are shown to be there, and not shown to lie within the tolerance.
    """
    parts: dict[str, list[tuple[float, float, float]]] = {}
    for row in (row for name in CATEGORIES for row in estimates.by("language", SHARE, category=name)):
        of_language = parts.setdefault(row.keys["language"], [])
        if row.keys["category"] not in SCORED and row.value:
            of_language.append((row.value, row.low, row.high))
    if not any(parts.values()) or len(parts) == 1:
        return {}
    apart = {}
    for language, own in parts.items():
        others = [ends for name, of in parts.items() if name != language for ends in of]
        weights = [1.0] * len(own) + [-1 / (len(parts) - 1)] * len(others)
        _, low, high = combined_interval(zip(weights, own + others, strict=True))
        differs = not low <= 0 <= high
        if differs and not (-tolerance <= low and high <= tolerance):
            apart[language] = sum(value for value, _, _ in own)
    return apart
