"""What compared captions say of individual fairness: one number for each image, then intervals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from equiview.audits import margin
from equiview.audits.base import once
from equiview.audits.estimating import Rows, joined, summarise
from equiview.audits.individual.pairs import IMAGES, VECTORS
from equiview.audits.individual.settings import IndividualSettings
from equiview.data.estimates import Estimates
from equiview.data.headline import Headline
from equiview.data.metric import quantity
from equiview.data.observations import Observations
from equiview.data.values import ValueColumn, Values, column
from equiview.errors import InputError
from equiview.metrics import gap_ratio
from equiview.stats import maximum_interval, normal_interval, quantile_interval

QUANTILES = {"50%": 0.5, "90%": 0.9, "99%": 0.99}
MEANS: dict[str, tuple[str, dict[str, Any]]] = {
    "similarity": ("similarity", {}),
    "gap": ("similarity gap", {}),
    "distance": ("text distance", {}),
    "chord": ("chord", {}),
    **{name: ("ratio", {"vectors": vectors}) for vectors, (name, _) in VECTORS.items()},
}
"""Columns of the observations by the metric, with its keys, that is their mean."""
MATCHED_ALONE = {"distance", "chord"}
"""Metrics that involve no image, and so are reported once."""
SLACK = 1e-9
"""Share of the chord by which a mean gap may exceed it: the means of both are rounded apart."""

MARGIN = margin.MARGIN
GAP = quantity("similarity gap", images="matched")
BEYOND = quantity("gap beyond paraphrase")
RELATIVE_GAP = Headline(quantity("relative gap"), of=(GAP, MARGIN), combine=margin.over_margin)
RELATIVE_BEYOND = Headline(
    quantity("relative gap beyond paraphrase"), of=(BEYOND, MARGIN), combine=margin.over_margin
)
SAME, SHIFT, RELATIVE_SHIFT = "same-language gap", "shift", "relative shift"
TESTED = {BEYOND.metric: RELATIVE_BEYOND.quantity.metric, SHIFT: RELATIVE_SHIFT}
"""Metrics that are 0 where captions are exchangeable whatever their languages, and these over the margin."""


@once
def values(observations: Observations, settings: IndividualSettings) -> Values:
    """Of each image: similarity, gap, distances and ratios, over all language pairs and by language."""
    table = observations["languages"]
    images = table.select(pl.col("query_id").unique(maintain_order=True))
    columns = [entry for kind in IMAGES for entry in _columns(table.filter(images=kind), images, kind)]
    columns += _levels(observations["captions"], images)
    # Where all vectors are equal no caption has a ratio: the column is dropped.
    asked = [entry for entry in columns if not np.isnan(entry.values).all()]
    return Values.of(images["query_id"], asked)


def _columns(rows: pl.DataFrame, images: pl.DataFrame, kind: str) -> Iterator[ValueColumn]:
    """Means of each image over its languages, and, for its own image, of each language."""
    weight = pl.col("pairs")
    weighted = {name: pl.col(name) * weight for name in ("gap", "distance", "chord")}
    plain = [name for name in MEANS if name not in weighted]
    # Means of lists: those of groups depend on the number of threads.
    by_image = rows.group_by("query_id", maintain_order=True).agg(weight, *plain, **weighted)
    by_image = by_image.with_columns(
        *(pl.col(name).list.sum() / weight.list.sum() for name in weighted),
        *(pl.col(name).list.mean() for name in plain),
    )
    means = images.join(by_image, on="query_id", how="left", maintain_order="left")
    for name, (metric, keys) in MEANS.items():
        if kind == "matched" or name not in MATCHED_ALONE:
            yield column(metric, means[name].to_numpy(), images=kind, **keys)
    if kind != "matched":
        return
    for name in ("similarity", "gap"):
        wide = _wide(rows, images, name)
        for language in sorted(wide.columns[1:]):
            yield column(MEANS[name][0], wide[language].to_numpy(), images=kind, language=language)


def _levels(captions: pl.DataFrame, images: pl.DataFrame) -> Iterator[ValueColumn]:
    """What one caption says of its language: margin, shift, and what captions of one language differ by."""
    both = pl.col("apart").is_not_null()  # the same languages on either side of the difference
    by_image = captions.group_by("query_id", maintain_order=True).agg(
        (pl.col("similarity") - pl.col("others")).alias(MARGIN.metric),
        pl.col("same").alias(SAME),
        (pl.col("apart") - pl.col("same")).filter(both).alias(BEYOND.metric),
    )
    by_image = by_image.with_columns(pl.exclude("query_id").list.mean())
    means = images.join(by_image, on="query_id", how="left", maintain_order="left")
    for metric in (MARGIN.metric, SAME, BEYOND.metric):
        yield column(metric, means[metric].to_numpy())
    similarity = _wide(captions, images, "similarity")
    languages = sorted(similarity.columns[1:])
    matrix = similarity.select(languages).to_numpy()
    others = np.nansum(matrix, axis=1, keepdims=True) - matrix
    shifts = matrix - others / ((~np.isnan(matrix)).sum(axis=1, keepdims=True) - 1)
    same = _wide(captions, images, "same")
    for place, language in enumerate(languages):
        yield column(SHIFT, shifts[:, place], language=language)
        yield column(SAME, same[language].to_numpy(), language=language)


def _wide(rows: pl.DataFrame, images: pl.DataFrame, name: str) -> pl.DataFrame:
    """One column for each language, a row for each image, nan where there is nothing."""
    wide = rows.pivot("language", index="query_id", values=name)
    return images.join(wide, on="query_id", how="left", maintain_order="left").fill_null(np.nan)


def measure(observations: Observations, settings: IndividualSettings) -> Estimates:
    """Means with intervals; alpha-hat, quantiles of the ratio and their bounds; every pair of languages.

    Raises InputError for observations in which a pair's gap exceeds its chord: no vectors can do that.
    """
    _check_bounds(observations)
    per_image = values(observations, settings)
    rows = Rows()
    _add_alphas(rows, observations)
    _add_quantiles(rows, observations, settings)
    _add_pairings(rows, observations["pairings"].filter(images="matched"))
    plain = per_image.select(lambda entry: entry.metric not in {MARGIN.metric, *TESTED})
    tested = margin.effects_over_margin(
        per_image, TESTED, settings, settings.least, settings.tolerance, RELATIVE_GAP
    )
    return joined([tested, summarise(plain, settings), rows.estimates()])


def _check_bounds(observations: Observations) -> None:
    """The bound of Lemma 1, checked again where numbers enter from files."""
    for name, slack in (("pairs", 0.0), ("languages", SLACK), ("pairings", SLACK)):
        table = observations[name]
        wrong = table.filter((pl.col("gap") > pl.col("chord") * (1 + slack)) | (pl.col("gap") < 0))
        if len(wrong):
            row = wrong.row(0, named=True)
            raise InputError(
                f"table {name!r}: the similarity gap {row['gap']:.6g} of {row['language']} exceeds the "
                f"distance of the captions' directions, {row['chord']:.6g}; no vectors do that"
            )
    for name in ("languages", "pairings"):
        if (observations[name]["largest_unit_ratio"] > 1).any():
            raise InputError(f"table {name!r}: a ratio of gap to chord above 1, which no vectors have")


def _add_alphas(rows: Rows, observations: Observations) -> None:
    """alpha-hat with its bootstrap interval, and the slope that no pair can exceed."""
    table, pairings = observations["languages"], observations["pairings"]
    for kind in IMAGES:
        counts = pairings.filter(images=kind)
        n = int((counts["pairs"] - counts["equal"]).sum())
        for vectors, (ratio, _) in VECTORS.items():
            by_image = (
                table.filter(images=kind)
                .group_by("query_id", maintain_order=True)
                .agg(pl.col(f"largest_{ratio}").max())
            )
            largest = by_image[f"largest_{ratio}"].drop_nulls().to_numpy()
            if len(largest):
                low, high = maximum_interval(largest)
                rows.add_known(quantity("alpha-hat", images=kind, vectors=vectors), (high, low, high), n)
    n_pairs = int(pairings["pairs"].sum())
    for vectors, slope in (("raw", pairings["slope"].to_numpy().max()), ("unit", 1.0)):
        rows.add_known(quantity("alpha bound", vectors=vectors), (slope, slope, slope), n_pairs)


def _add_quantiles(rows: Rows, observations: Observations, settings: IndividualSettings) -> None:
    """Quantiles of the ratio over the pairs kept, with Woodruff's interval (1952) clustered by image."""
    for kind in IMAGES:
        pairs = observations["pairs"].filter((pl.col("images") == kind) & (pl.col("chord") > 0))
        if not len(pairs):
            continue
        clusters = pairs["query_id"].rank("dense").to_numpy().astype(np.int64)
        for vectors, (_, distance) in VECTORS.items():
            quantiles = quantile_interval(
                gap_ratio(pairs["gap"].to_numpy(), pairs[distance].to_numpy()),
                list(QUANTILES.values()),
                clusters=clusters,
            )
            intervals = zip(quantiles.value, quantiles.low, quantiles.high, strict=True)
            for name, ends in zip(QUANTILES, intervals, strict=True):
                wanted = quantity("ratio", images=kind, vectors=vectors, quantile=name)
                rows.add_known(wanted, ends, quantiles.n)


def _add_pairings(rows: Rows, pairings: pl.DataFrame) -> None:
    """Mean gap, distance and chord of every two languages; intervals are normal ones, images being many."""
    for row in pairings.iter_rows(named=True):
        keys = {"images": "matched", "language": row["language"], "other": row["other"]}
        for name in ("gap", "distance", "chord"):
            low, high = normal_interval(row[name], row[f"{name}_sd"], row["pairs"])
            ends = (row[name], max(0.0, float(low)), float(high))
            rows.add_known(quantity(MEANS[name][0], **keys), ends, row["pairs"])
