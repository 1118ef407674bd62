"""The answer in words: how much the language of a caption matters beside the image."""

from __future__ import annotations

import polars as pl

from equiview.audits.individual.draw import LEAST
from equiview.audits.individual.pairs import EQUAL, IMAGES
from equiview.audits.individual.settings import IndividualSettings
from equiview.audits.judging import finding_of
from equiview.data.estimates import Estimates
from equiview.data.languages import language_names
from equiview.data.verdict import Verdict

LIMITS = (
    "Captions never say quite the same in two languages: part of every gap is what they say.",
    "Individual fairness does not prevent unequal accuracy (F, section 5.1): read it beside parity.",
)
ADVICE = (
    "Align texts of other languages to the encoder's strongest one, with the distance of parallel "
    "captions as the loss: the chord bounds the gap.",
)


def judge(estimates: Estimates, settings: IndividualSettings) -> Verdict:
    """Biased when the gap is more than `tolerance` of the margin between a right and a wrong image."""
    relative, margin = estimates.one("relative gap"), estimates.one("margin")
    gap = estimates.one("similarity gap", images="matched")
    finding = finding_of(biased=relative.low > settings.tolerance, fair=relative.high < settings.tolerance)
    begin = {"biased": "Yes", "fair": "No", "unclear": f"Not decided at {settings.tolerance:.0%}"}[finding]
    evidence = (_alpha(estimates), _shuffled(estimates), _apart(estimates), _low(estimates))
    return Verdict(
        finding=finding,
        answer=f"{begin}: the language of a caption moves its similarity to the image by {gap.value:.3f}, "
        f"{relative:.1%} of what a right image has over a wrong one ({margin.value:.3f}).",
        evidence=tuple(filter(None, evidence)),
        advice=ADVICE if finding == "biased" else (),
        limits=LIMITS,
    )


def _alpha(estimates: Estimates) -> str:
    names = {"raw": "vectors as they are", "unit": "vectors of length 1"}
    bounds = {vectors: estimates.one("alpha bound", vectors=vectors).value for vectors in names}
    if abs(bounds["raw"] - 1) <= EQUAL:
        names = {"unit": "vectors as they are, of length 1"}
    ratios = []
    for vectors, name in names.items():
        alpha = estimates.maybe("alpha-hat", images="matched", vectors=vectors)
        if alpha is not None:
            ratios.append(f"{alpha.value:.3g} of at most {bounds[vectors]:.3g} ({name})")
    together = "; ".join(ratios)
    return f"Largest ratio of gap to distance, alpha-hat: {together}. No pair exceeds it." if ratios else ""


def _shuffled(estimates: Estimates) -> str:
    right, wrong = (estimates.one("similarity gap", images=kind).value for kind in IMAGES)
    return f"Mean gap with the caption's own image {right:.3f}, with a wrong one {wrong:.3f}."


def _apart(estimates: Estimates) -> str:
    gaps = estimates.by(("language", "other"), "similarity gap", images="matched").table
    if len(gaps) < LEAST:
        return ""
    rows = gaps.sort("value", "language", "other").with_columns(
        pl.col("language", "other").replace(language_names())
    )
    least, most = (
        f"{row['language']} and {row['other']} ({row['value']:.3f})"
        for row in (rows.row(0, named=True), rows.row(-1, named=True))
    )
    return f"Furthest apart of {len(rows)} pairs of languages: {most}; nearest: {least}."


def _low(estimates: Estimates) -> str:
    rows = estimates.by("language", "similarity", images="matched").table
    if len(rows) < LEAST:
        return ""
    rows = rows.sort("value", "language").with_columns(pl.col("language").replace(language_names()))
    levels = [f"{row['language']} {row['value']:.2f}" for row in rows.iter_rows(named=True)]
    return f"Captions least similar to their images: {', '.join(levels[:3])}; most: {levels[-1]}."
