"""How individual fairness is shown and put into words."""

from __future__ import annotations

import numpy as np
import polars as pl

from equiview.audits._individual_values import EQUAL, IMAGES, RATIOS, IndividualSettings, is_unit
from equiview.audits._languages import name_of, points_by_language, square
from equiview.data.estimates import Estimates
from equiview.data.figures import Chart, Figure
from equiview.data.languages import languages
from equiview.data.observations import Observations
from equiview.data.run import Verdict
from equiview.data.seeds import seed_for

QUESTION = "Do captions that say the same in different languages relate alike to the same image?"
SHOWN = {"matched": 1200, "shuffled": 600}
"""Pairs drawn as points; more would say no more."""
DOTS = 40
LIMITS = (
    "Captions never say quite the same in two languages: part of every gap is what they say.",
    "Individual fairness does not prevent unequal accuracy (F, section 5.1): read it beside parity.",
)


def draw(observations: Observations, estimates: Estimates, settings: IndividualSettings) -> list[Figure]:
    """Gap against distance with both slopes (F, Fig. 1), the matrix of languages, each language."""
    made: list[Figure | None] = (
        [] if is_unit(observations) else [_slopes(observations, estimates, settings, "raw")]
    )
    made += [
        _slopes(observations, estimates, settings, "unit"),
        _matrix(estimates),
        _by_language(estimates, "similarity gap"),
        _by_language(estimates, "similarity"),
    ]
    return [figure for figure in made if figure is not None]


def _slopes(
    observations: Observations, estimates: Estimates, settings: IndividualSettings, vectors: str
) -> Chart | None:
    _, distance = RATIOS[vectors]
    pairs = observations["pairs"].filter(pl.col("chord") > 0)
    if not len(pairs):
        return None
    rng = np.random.default_rng(seed_for(settings.seed, "individual.figure"))
    parts = []
    for which in reversed(IMAGES):
        own = pairs.filter(images=which)
        steepest = (own["gap"] / own[distance]).arg_max()
        rows = np.sort(rng.permutation(len(own))[: SHOWN[which]])
        rows = np.union1d(rows, [steepest]).astype(np.int64)
        parts.append(own[rows].with_columns(series=pl.lit(f"{which} image")))
    points = pl.concat(parts).select(
        "series",
        pl.col(distance).alias("distance"),
        "gap",
        pair=pl.concat_str(
            "language", pl.lit(": "), "text", pl.lit(" / "), "other", pl.lit(": "), "other_text"
        ),
    )
    alpha = estimates.one("alpha-hat", images="matched", vectors=vectors)["value"]
    bound = estimates.one("alpha bound", vectors=vectors)["value"]
    reach, top = float(points["distance"].max()), float(points["gap"].max())  # type: ignore[arg-type]
    lines = [
        _line("largest ratio, alpha-hat", alpha, reach, top),
        _line("what is possible" if vectors == "unit" else "theoretical bound", bound, reach, top),
    ]
    named = "as the encoder gives them" if vectors == "raw" else "scaled to length 1"
    return Chart(
        name=f"gap-by-distance-{vectors}",
        title=f"How much similarity changes with how far captions lie apart, vectors {named}",
        see="Each point is two captions of one image in two languages. No point can lie above the steeper "
        f"dotted line (slope {bound:.3g}); the flatter one goes through the steepest pair with its own "
        f"image, alpha-hat {alpha:.3g}. The wider the room between the lines, the less language matters.",
        table=pl.concat([points, *lines], how="diagonal_relaxed"),
        mark="scatter",
        x="distance",
        y="gap",
        color="series",
        label="pair",
        x_title="distance of the two captions" + (" (directions only)" if vectors == "unit" else ""),
        y_title="similarity gap",
    )


def _line(name: str, slope: float, reach: float, top: float) -> pl.DataFrame:
    """A line through the origin as dots, cut off a little above the highest point."""
    end = min(reach, 1.15 * top / slope) if slope > 0 else reach
    x = np.linspace(end / DOTS, end, DOTS)
    return pl.DataFrame({"series": [name] * DOTS, "distance": x, "gap": slope * x, "pair": [name] * DOTS})


def _pairs_of(estimates: Estimates, metric: str) -> pl.DataFrame:
    if "other" not in estimates.keys:
        return estimates.table.head(0)
    return estimates.table.filter((pl.col("metric") == metric) & pl.col("other").is_not_null())


def _matrix(estimates: Estimates) -> Chart | None:
    rows = _pairs_of(estimates, "similarity gap").select("language", "other", "value", "low", "high", "n")
    if len(rows) < 3:
        return None
    table = square(rows, sign=1)
    return Chart(
        name="gap-by-pair",
        title="Mean similarity gap of every two languages, families together",
        see="Dark blocks along the diagonal say that languages of one family are treated alike; a bright row "
        "or column is a language that stands apart from all others.",
        table=table,
        mark="heatmap",
        x="language",
        y="other",
        color="value",
        x_title="language",
        y_title="other language",
    )


def _by_language(estimates: Estimates, metric: str) -> Chart | None:
    rows = estimates.table.filter(
        (pl.col("metric") == metric) & (pl.col("images") == "matched") & pl.col("language").is_not_null()
    )
    if "other" in estimates.keys:
        rows = rows.filter(pl.col("other").is_null())
    table = (
        rows.select("language", "value", "low", "high", "n")
        .join(languages(), left_on="language", right_on="code", how="left")
        .with_columns(pl.col("name").fill_null(pl.col("language")), pl.col("tier").fill_null("unknown"))
        .sort("commoncrawl_percent", "language", descending=[True, False], nulls_last=True)
    )
    if not len(table):
        return None
    gap = metric == "similarity gap"
    return points_by_language(
        table,
        name="gap-by-language" if gap else "similarity-by-language",
        title="Mean similarity gap of each language to all others"
        if gap
        else "How similar captions of each language are to their images",
        see="A language that stands high is treated unlike the others by the encoder."
        if gap
        else "Captions say the same of the same images, so level points are what is fair. A language that "
        "lies low loses against all others wherever languages share one pool.",
        y_title=metric,
        percent=False,
    )


def judge(estimates: Estimates, settings: IndividualSettings) -> Verdict:
    """Biased when the gap is more than `tolerance` of the margin between a right and a wrong image."""
    row = estimates.one("relative gap")
    gap, margin = estimates.one("similarity gap", images="matched"), estimates.one("margin")
    numbers = f"{row['value']:.1%} [{row['low']:.1%}, {row['high']:.1%}]"
    what = (
        f"the language of a caption moves its similarity to the image by {gap['value']:.3f}, {numbers} of "
        f"what a right image has over a wrong one ({margin['value']:.3f})"
    )
    if row["low"] > settings.tolerance:
        finding, answer = "biased", f"No: {what}."
    elif row["high"] < settings.tolerance:
        finding, answer = "fair", f"Yes: {what}."
    else:
        finding, answer = "unclear", f"Not decided at {settings.tolerance:.0%}: {what}."
    return Verdict(
        audit="individual",
        question=QUESTION,
        finding=finding,
        answer=answer,
        evidence=tuple(
            filter(None, (_alpha(estimates), _shuffled(estimates), _apart(estimates), _low(estimates)))
        ),
        advice=(
            "Align texts of other languages to the encoder's strongest one, with the distance of parallel "
            "captions as the loss: the chord bounds the gap.",
        )
        if finding == "biased"
        else (),
        limits=LIMITS,
    )


def _alpha(estimates: Estimates) -> str:
    names = {"raw": "vectors as they are", "unit": "vectors of length 1"}
    if abs(estimates.one("alpha bound", vectors="raw")["value"] - 1) <= EQUAL:
        names = {"unit": "vectors as they are, of length 1"}
    said = []
    for vectors, named in names.items():
        rows = estimates.where("alpha-hat", images="matched", vectors=vectors)
        if len(rows):
            bound = estimates.one("alpha bound", vectors=vectors)["value"]
            said.append(f"{rows['value'][0]:.3g} of at most {bound:.3g} ({named})")
    together = "; ".join(said)
    return f"Largest ratio of gap to distance, alpha-hat: {together}. No pair exceeds it." if said else ""


def _shuffled(estimates: Estimates) -> str:
    right, wrong = (estimates.one("similarity gap", images=which)["value"] for which in IMAGES)
    return f"Mean gap with the caption's own image {right:.3f}, with a wrong one {wrong:.3f}."


def _apart(estimates: Estimates) -> str:
    rows = _pairs_of(estimates, "similarity gap").sort("value", "language", "other")
    if len(rows) < 3:
        return ""
    names = name_of()
    least, most = (
        f"{names.get(row['language'], row['language'])} and {names.get(row['other'], row['other'])} "
        f"({row['value']:.3f})"
        for row in (rows.row(0, named=True), rows.row(-1, named=True))
    )
    return f"Furthest apart of {len(rows)} pairs of languages: {most}; nearest: {least}."


def _low(estimates: Estimates) -> str:
    chart = _by_language(estimates, "similarity")
    if chart is None or len(chart.table) < 3:
        return ""
    rows = chart.table.sort("value", "language")
    least = ", ".join(f"{row['name']} {row['value']:.2f}" for row in rows.head(3).iter_rows(named=True))
    top = rows.row(-1, named=True)
    return f"Captions least similar to their images: {least}; most: {top['name']} {top['value']:.2f}."
