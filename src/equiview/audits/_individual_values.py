"""What compared captions say of individual fairness: one number per image and metric, then intervals."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import Field

from equiview.audits._summary import cluster_labels, column_name, summarise
from equiview.audits.base import Settings, Values
from equiview.benchmarks.parallel import CHOICE_ABOUT, Choice
from equiview.data.estimates import Estimates
from equiview.data.observations import Observations
from equiview.data.seeds import seed_for
from equiview.errors import InputError
from equiview.stats import bootstrap_interval, bootstrap_means, interval

IMAGES = ("matched", "shuffled")
QUANTILES = (0.5, 0.9, 0.99)
EQUAL = 1e-6
"""Vectors whose lengths differ from 1 by no more are of length 1, whatever the precision they came in."""
NORMAL = NormalDist().inv_cdf(0.975)
RATIOS = {"raw": ("ratio", "distance"), "unit": ("unit_ratio", "chord")}


class IndividualSettings(Settings):
    """What can be chosen: which captions and languages, how many pairs are kept, what counts as unequal."""

    captions: Choice = Field(default="each", description=CHOICE_ABOUT)
    languages: tuple[str, ...] = Field(default=(), description="languages compared; none means all")
    sample: int = Field(
        default=20_000, ge=100, description="pairs of captions kept one by one, drawn by seed"
    )
    tolerance: float = Field(
        default=0.1, gt=0, lt=1, description="share of the margin up to which a gap counts as small"
    )


def values(observations: Observations, settings: IndividualSettings) -> Values:
    """Of each image: similarity, gap, distance and ratios, over all language pairs and by language.

    `relative gap` is the gap over the mean margin, the similarity that a right image has over a wrong one; it
    has no unit, so that encoders that spread their similarities differently can be compared.
    """
    table = observations["languages"]
    margin = _margin(table)
    made = table.select(pl.col("query_id").unique(maintain_order=True))
    for which in IMAGES:
        own = table.filter(images=which)
        weight = pl.col("pairs")
        columns = {column_name("similarity", images=which): pl.col("similarity").mean()}
        for name, label in (("gap", "similarity gap"), ("distance", "text distance"), ("chord", "chord")):
            if name == "gap" or which == "matched":
                mean = (pl.col(name) * weight).sum() / weight.sum()
                columns[column_name(label, images=which)] = mean
        for vectors, (name, _) in RATIOS.items():
            columns[column_name("ratio", images=which, vectors=vectors)] = pl.col(name).mean()
        made = made.join(
            own.group_by("query_id").agg(**columns), on="query_id", how="left", maintain_order="left"
        )
        if which == "matched":
            made = made.with_columns(
                (pl.col(column_name("similarity gap", images=which)) / margin).alias("relative gap")
            )
            for name, label in (("similarity", "similarity"), ("gap", "similarity gap")):
                wide = own.pivot("language", index="query_id", values=name)
                names = {
                    code: column_name(label, images=which, language=code) for code in sorted(wide.columns[1:])
                }
                made = made.join(
                    wide.select("query_id", *names).rename(names),
                    on="query_id",
                    how="left",
                    maintain_order="left",
                )
    # A ratio that every caption lacks, all vectors being equal, was asked of nobody.
    empty = [name for name in made.columns if made[name].null_count() == len(made)]
    made = made.drop(empty)
    return Values(made.select("query_id", pl.col("query_id").alias("cluster"), pl.exclude("query_id")))


def _margin(table: pl.DataFrame) -> float:
    """How much more similar captions are to their image than to a wrong one, on average."""
    right, wrong = (float(table.filter(images=which)["similarity"].to_numpy().mean()) for which in IMAGES)
    margin = right - wrong
    if margin <= 0:
        raise InputError(
            f"captions are no more similar to their own images ({right:.3f}) than to wrong ones "
            f"({wrong:.3f}): images and texts are mixed up, or the encoder does not relate them"
        )
    return margin


def measure(observations: Observations, settings: IndividualSettings) -> Estimates:
    """Means with intervals; alpha-hat, quantiles of the ratio and their bounds; every pair of languages.

    Raises InputError for observations in which a pair's gap exceeds its chord: no vectors can do that.
    """
    _refuse_impossible(observations)
    found = values(observations, settings)
    estimates = summarise("individual", found, {}, settings)
    table = estimates.table.filter(pl.col("metric") != "relative gap")
    rows = [
        *_relative(found, settings),
        *_alphas(observations),
        *_quantiles(observations, settings),
        *_pairings(observations["pairings"].filter(images="matched")),
    ]
    extra = pl.from_dicts(rows, infer_schema_length=None)
    return Estimates.concat([Estimates(extra.head(1)), Estimates(table), Estimates(extra.slice(1))])


def _refuse_impossible(observations: Observations) -> None:
    """The bound of Lemma 1, checked again where numbers enter from files."""
    for name, gap, chord in (
        ("pairs", "gap", "chord"),
        ("languages", "gap", "chord"),
        ("pairings", "gap", "chord"),
    ):
        table = observations[name]
        # Means are of whole columns, so they are rounded apart; single pairs were cut at the chord.
        slack = 0.0 if name == "pairs" else 1e-9
        wrong = table.filter((pl.col(gap) > pl.col(chord) * (1 + slack)) | (pl.col(gap) < 0))
        if len(wrong):
            row = wrong.row(0, named=True)
            raise InputError(
                f"individual.{name}: the similarity gap {row['gap']:.6g} of {row['language']} exceeds the "
                f"distance of the captions' directions, {row['chord']:.6g}; no vectors do that"
            )
    for name in ("languages", "pairings"):
        if (observations[name]["largest_unit_ratio"] > 1).any():
            raise InputError(f"individual.{name}: a ratio of gap to chord above 1, which no vectors have")


def is_unit(observations: Observations) -> bool:
    """Whether the encoder gives texts of length 1, so that raw and unit vectors are the same."""
    pairs = observations["pairs"]
    lengths = pl.concat([pairs["length"], pairs["other_length"]])
    return bool(((lengths - 1).abs() <= EQUAL).all())


def _row(metric: str, value: Any, low: Any, high: Any, n: int, **keys: str) -> dict[str, Any]:
    return {
        "audit": "individual",
        "metric": metric,
        "value": float(value),
        "low": float(low),
        "high": float(high),
        "n": int(n),
        "chance": None,
        "excess": None,
        **keys,
    }


def _relative(found: Values, settings: IndividualSettings) -> list[dict[str, Any]]:
    """The gap over the margin with an interval of both, and the margin itself."""
    names = [
        column_name("similarity gap", images="matched"),
        *(column_name("similarity", images=which) for which in IMAGES),
    ]
    matrix = found.table.select(pl.col(names).fill_null(np.nan)).to_numpy()
    replicates = bootstrap_means(
        matrix,
        clusters=cluster_labels(found),
        replicates=settings.replicates,
        seed=seed_for(settings.seed, "individual.bootstrap"),
    )
    gap, right, wrong = np.nanmean(matrix, axis=0)
    margins = replicates[:, 1] - replicates[:, 2]
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where(margins > 0, replicates[:, 0] / margins, np.inf)
    n = len(matrix)
    return [
        _row("relative gap", gap / (right - wrong), *interval(relative), n),
        _row("margin", right - wrong, *interval(margins), n),
    ]


def _alphas(observations: Observations) -> list[dict[str, Any]]:
    """alpha-hat with its bootstrap interval, and the slope that no pair can exceed."""
    rows = []
    table, pairings = observations["languages"], observations["pairings"]
    for which in IMAGES:
        n = int((pairings.filter(images=which)["pairs"] - pairings.filter(images=which)["equal"]).sum())
        for vectors, (name, _) in RATIOS.items():
            largest = table.filter(images=which).group_by("query_id").agg(pl.col(f"largest_{name}").max())
            found = np.sort(largest[f"largest_{name}"].drop_nulls().to_numpy())
            if len(found):
                low = _low_of_maximum(found)
                keys = {"images": which, "vectors": vectors}
                rows.append(_row("alpha-hat", found[-1], low, found[-1], n, **keys))
    for vectors, slope in (("raw", float(pairings["slope"].max())), ("unit", 1.0)):  # type: ignore[arg-type]
        rows.append(_row("alpha bound", slope, slope, slope, int(pairings["pairs"].sum()), vectors=vectors))
    return rows


def _low_of_maximum(ordered: NDArray[np.float64]) -> float:
    """Lower end of the bootstrap interval of a maximum, exactly: (k/n)^n is the chance to reach the k-th.

    Its upper end is the maximum itself, since no draw holds more: a maximum can only grow with more data.
    """
    n = len(ordered)
    return float(ordered[max(1, math.ceil(n * 0.025 ** (1 / n))) - 1])


def _quantiles(observations: Observations, settings: IndividualSettings) -> list[dict[str, Any]]:
    """Quantiles of the ratio over pairs, with Woodruff's interval (1952) clustered by image.

    The share of pairs below the quantile has a bootstrap interval; the quantiles at its ends are the ends.
    """
    rows = []
    for which in IMAGES:
        pairs = observations["pairs"].filter((pl.col("images") == which) & (pl.col("chord") > 0))
        if not len(pairs):
            continue
        clusters = pairs["query_id"].rank("dense").to_numpy().astype(np.int64)
        for vectors, (_, distance) in RATIOS.items():
            ratio = (pairs["gap"] / pairs[distance]).to_numpy()
            cuts = np.quantile(ratio, QUANTILES)
            found = bootstrap_interval(
                (ratio[:, None] <= cuts).astype(np.float64),
                clusters=clusters,
                replicates=settings.replicates,
                seed=seed_for(settings.seed, f"individual.quantiles.{which}"),
            )
            for index, q in enumerate(QUANTILES):
                low, high = np.quantile(ratio, [float(found.low[index]), float(found.high[index])])
                ends = (min(low, cuts[index]), max(high, cuts[index]))
                found_row = _row(f"ratio p{round(100 * q)}", cuts[index], *ends, len(ratio))
                rows.append(found_row | {"images": which, "vectors": vectors})
    return rows


def _pairings(pairings: pl.DataFrame) -> list[dict[str, Any]]:
    """Mean gap and chord of every two languages; the interval is the normal one, images being many."""
    rows = []
    for row in pairings.iter_rows(named=True):
        n = row["pairs"]
        keys = {"images": "matched", "language": row["language"], "other": row["other"]}
        for name, label in (("gap", "similarity gap"), ("chord", "chord")):
            reach = NORMAL * row[f"{name}_sd"] / math.sqrt(n)
            low = max(0.0, row[name] - reach)
            rows.append(_row(label, row[name], low, row[name] + reach, n, **keys))
    return rows
