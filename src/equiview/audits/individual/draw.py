"""Gap against distance with both slopes (F, Fig. 1), every two languages, each language."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from equiview.audits.charts import MEASURED, matrix, named, points_by_language, square
from equiview.audits.individual.measure import RELATIVE_SHIFT
from equiview.audits.individual.pairs import EQUAL, IMAGES, LEAST, VECTORS
from equiview.audits.individual.settings import IndividualSettings
from equiview.data.estimates import Estimates
from equiview.data.figures import Chart, Figure
from equiview.data.observations import Observations
from equiview.metrics import gap_bound

SHOWN = {"matched": 1200, "shuffled": 600}
"""Pairs drawn as points; more would say no more."""
DOTS = 40
"""Points from which a line is drawn."""


def draw(
    observations: Observations, estimates: Estimates, settings: IndividualSettings
) -> list[Figure | None]:
    """The figures, first those of raw vectors unless these have length 1 anyway."""
    pairs = observations["pairs"]
    lengths = pl.concat([pairs["length"], pairs["other_length"]])
    is_unit = ((lengths - 1).abs() <= EQUAL).all()
    return [
        None if is_unit else _slopes(pairs, estimates, settings, "raw"),
        _slopes(pairs, estimates, settings, "unit"),
        _matrix(estimates),
        _by_language(
            estimates,
            RELATIVE_SHIFT,
            name="shift-by-language",
            title="How much more similar captions of each language are to their images than other languages'",
            see="In percent of the margin, which a right image has over a wrong one. Where captions are "
            f"treated alike, no language stands off 0; the verdict tolerates {settings.tolerance:.0%} of it.",
            tolerance=settings.tolerance,
        ),
        _by_language(
            estimates,
            "similarity gap",
            name="gap-by-language",
            title="Mean similarity gap of each language to all others",
            see="A language that stands high is treated unlike the others by the encoder.",
        ),
        _by_language(
            estimates,
            "similarity",
            name="similarity-by-language",
            title="How similar captions of each language are to their images",
            see="Captions say the same of the same images, so level points are what is fair. A language that "
            "lies low loses against all others wherever languages share one pool.",
        ),
    ]


def _slopes(
    pairs: pl.DataFrame, estimates: Estimates, settings: IndividualSettings, vectors: str
) -> Chart | None:
    unequal = pairs.filter(pl.col("chord") > 0)
    if not len(unequal):
        return None
    points = _points(unequal, VECTORS[vectors][1], settings.seed_of("figure"))
    alpha = estimates.one("alpha-hat", images="matched", vectors=vectors).value
    bound = estimates.one("alpha bound", vectors=vectors).value
    reach, top = points["distance"].to_numpy().max(), points["gap"].to_numpy().max()
    lengths = pl.concat([pairs["length"], pairs["other_length"]])
    shortest = 1.0 if vectors == "unit" else lengths.to_numpy().min()
    lines = [
        _line("largest ratio, alpha-hat", alpha, reach, top),
        _line("what is possible" if vectors == "unit" else "theoretical bound", bound, reach, top),
        _curve("Theorem 2 of F", float(shortest), reach, top),
    ]
    vectors_in_words = "as the encoder gives them" if vectors == "raw" else "scaled to length 1"
    return Chart(
        name=f"gap-by-distance-{vectors}",
        title=f"How much similarity changes with how far captions lie apart, vectors {vectors_in_words}",
        see="Each point is two captions of one image in two languages. No point can lie above the steeper "
        f"dotted line (slope {bound:.3g}); the flatter one goes through the steepest pair with its own "
        f"image, alpha-hat {alpha:.3g}. The wider the room between the lines, the less language matters. "
        "The curve is the bound of F's Theorem 2 for the shortest caption, and goes up to its length.",
        table=pl.concat([points, *lines], how="diagonal_relaxed"),
        mark="scatter",
        x="distance",
        y="gap",
        color="series",
        domain=(*(f"{kind} image" for kind in reversed(IMAGES)), *(line["series"][0] for line in lines)),
        label="pair",
        x_title="distance of the two captions" + (" (directions only)" if vectors == "unit" else ""),
        y_title="similarity gap",
    )


def _points(pairs: pl.DataFrame, distance: str, seed: int) -> pl.DataFrame:
    """Some pairs of each kind of image, the steepest always among them."""
    rng = np.random.default_rng(seed)
    parts = []
    for kind in reversed(IMAGES):
        of_kind = pairs.filter(images=kind)
        steepest = (of_kind["gap"] / of_kind[distance]).arg_max()
        rows = np.sort(rng.permutation(len(of_kind))[: SHOWN[kind]])
        rows = np.union1d(rows, [steepest]).astype(np.int64)
        parts.append(of_kind[rows].with_columns(series=pl.lit(f"{kind} image")))
    captions = ("language", pl.lit(": "), "text", pl.lit(" / "), "other", pl.lit(": "), "other_text")
    return pl.concat(parts).select(
        "series", pl.col(distance).alias("distance"), "gap", pair=pl.concat_str(*captions)
    )


def _line(name: str, slope: float, reach: float, top: float) -> pl.DataFrame:
    """A line through the origin as dots, cut off a little above the highest point."""
    end = min(reach, 1.15 * top / slope) if slope > 0 else reach
    x = np.linspace(end / DOTS, end, DOTS)
    return pl.DataFrame({"series": [name] * DOTS, "distance": x, "gap": slope * x, "pair": [name] * DOTS})


def _curve(name: str, length: float, reach: float, top: float) -> pl.DataFrame:
    """The bound of Theorem 2 around a caption of `length`, cut off where `_line` is."""
    highest = min(1.15 * top, np.sqrt(2))
    end = min(reach, length * np.sqrt(1 - (1 - highest**2 / 2) ** 2))
    x = np.linspace(end / DOTS, end, DOTS)
    gaps = gap_bound(x, np.full(DOTS, length))
    return pl.DataFrame({"series": [name] * DOTS, "distance": x, "gap": gaps, "pair": [name] * DOTS})


def _matrix(estimates: Estimates) -> Chart | None:
    rows = estimates.by(("language", "other"), "similarity gap", images="matched").table
    if len(rows) < LEAST:
        return None
    return matrix(
        name="gap-by-pair",
        title="Mean similarity gap of every two languages, families together",
        see="Dark blocks along the diagonal say that languages of one family are treated alike; a bright row "
        "or column is a language that stands apart from all others.",
        table=square(rows.select("language", "other", *MEASURED), sign=1),
        x=("language", "language"),
        y=("other", "other language"),
    )


def _by_language(
    estimates: Estimates, metric: str, *, name: str, title: str, see: str, tolerance: float | None = None
) -> Chart | None:
    """A point for each language; with a `tolerance` in percent, and of no kind of image."""
    rows = estimates.by("language", metric, images=None if tolerance else "matched").table
    if not len(rows):
        return None
    table = named(rows.select("language", *MEASURED))
    relative = tolerance is not None
    chart = points_by_language(table, name=name, title=title, see=see, y_title=metric, percent=relative)
    lines = {"tolerance": tolerance, "tolerance, below": -tolerance} if tolerance else {}
    return replace(chart, reference=lines)
