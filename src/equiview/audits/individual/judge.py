"""The answer in words: how much the language of a caption matters beside the image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from equiview.audits.individual.draw import LEAST
from equiview.audits.individual.measure import (
    MARGIN,
    RELATIVE_BEYOND,
    RELATIVE_GAP,
    RELATIVE_SHIFT,
    SAME,
    SHIFT,
)
from equiview.audits.individual.pairs import EQUAL, IMAGES
from equiview.audits.individual.settings import IndividualSettings
from equiview.audits.judging import decide, largest, shows_bias
from equiview.data.estimates import Estimate, Estimates
from equiview.data.languages import language_name, language_names
from equiview.data.metric import Quantity
from equiview.data.verdict import Finding, Verdict

LIMITS = (
    "A shift of a language includes all that its captions have in common, such as being short.",
    "Individual fairness does not prevent unequal accuracy (F, section 5.1): read it beside parity.",
)
ONE_CAPTION = (
    "With one caption for each image and language, what captions say and what their language does cannot be "
    "told apart: part of every gap is what they say."
)
ADVICE = (
    "Align texts of other languages to the encoder's strongest one, with the distance of parallel "
    "captions as the loss: the chord bounds the gap.",
)
CERTAIN = 0.0001
"""p up to which captions count as more similar to their own images: no random encoder should get so far."""
NAMED = 3
"""Languages that the answer names on either side."""


@dataclass(frozen=True)
class Effects:
    """What the verdict reads, as shares of the margin.

    `shifts` are of the languages. `beyond` is the gap between languages beyond paraphrase, None where images
    have one caption a language; then the whole `gap` can show that language matters little, but never that it
    matters much, since captions that say different things have it whatever their languages.
    """

    shifts: tuple[Estimate, ...]
    gap: Estimate
    beyond: Estimate | None

    def all(self) -> tuple[Estimate, ...]:
        """All of them as effects, 0 where language does nothing."""
        if self.beyond is None:  # permuting an image's languages leaves its mean gap as it is
            return (*self.shifts, replace(self.gap, p=1.0, p_holm=1.0))
        return (*self.shifts, _at_least_none(self.beyond))

    def shown(self, tolerance: float) -> tuple[list[Estimate], bool]:
        """The shifts that show bias, largest first, and whether the gap beyond paraphrase does."""
        shifts = [shift for shift in self.shifts if shows_bias(shift, tolerance)]
        shifts.sort(key=lambda shift: -abs(shift.value))
        return shifts, self.beyond is not None and shows_bias(_at_least_none(self.beyond), tolerance)


def _at_least_none(beyond: Estimate) -> Estimate:
    """The gap beyond paraphrase as an effect: below 0, captions in one language differ more, no bias."""
    return replace(beyond, low=max(beyond.low, 0.0), high=max(beyond.high, 0.0))


def judge(estimates: Estimates, settings: IndividualSettings) -> Verdict:
    """Biased where a language is shifted, or moves similarity beyond paraphrase, by more than the tolerance.

    Fair where none is shifted by more and the gap beyond paraphrase is within the tolerance, or the whole gap
    where images have one caption a language. The tolerance is a share of the margin between a right image and
    a wrong one.
    """
    missing = _missing(estimates, settings)
    effects = None if missing else _effects(estimates)
    if effects is None:
        finding, answer = decide(tolerance=settings.tolerance, missing=missing), f"Not decided: {missing}."
    else:
        finding = decide(*effects.all(), tolerance=settings.tolerance)
        answer = _answer(finding, effects, estimates, settings.tolerance)
    evidence = (
        _paraphrase(estimates),
        _alpha(estimates),
        _shuffled(estimates),
        _apart(estimates),
        _low(estimates),
        _not_judged(estimates),
    )
    return Verdict(
        finding=finding,
        answer=answer,
        evidence=tuple(filter(None, evidence)),
        advice=ADVICE if finding == "biased" else (),
        limits=LIMITS if _at(estimates, RELATIVE_BEYOND.quantity) else (ONE_CAPTION, *LIMITS),
        effect=largest(effects.all(), settings.tolerance) if effects else None,
    )


def _missing(estimates: Estimates, settings: IndividualSettings) -> str:
    """What is missing for a judgement, or nothing."""
    margin = estimates.one(MARGIN.metric)
    if margin.n < settings.least:
        return f"only {margin.n} images are captioned in two languages, at least {settings.least} are needed"
    numbers = f"the margin is {margin:.3f}"
    if margin.low <= 0:
        return f"captions are no more similar to their own images than to wrong ones, {numbers}"
    if margin.p is not None and margin.p > CERTAIN:
        return f"captions are hardly more similar to their own images than to wrong ones, {numbers}"
    if not _shifts(estimates):
        return f"no language captions {settings.least} images that others caption too"
    return ""


def _effects(estimates: Estimates) -> Effects:
    gap = estimates.one(RELATIVE_GAP.quantity.metric)
    return Effects(_shifts(estimates), gap, _at(estimates, RELATIVE_BEYOND.quantity))


def _shifts(estimates: Estimates) -> tuple[Estimate, ...]:
    return tuple(shift for shift in estimates.by("language", RELATIVE_SHIFT) if shift.judged)


def _at(estimates: Estimates, wanted: Quantity) -> Estimate | None:
    """An estimate that there is enough to judge by, or None."""
    row = estimates.at(wanted)
    return row if row is not None and row.judged else None


def _answer(finding: Finding, effects: Effects, estimates: Estimates, tolerance: float) -> str:
    margin = f"what a right image has over a wrong one ({estimates.one(MARGIN.metric).value:.3f})"
    moved = _moved(effects, estimates, margin)
    if finding == "biased":
        shifts, beyond = effects.shown(tolerance)
        claims = [f"{_shifted(shifts, len(effects.shifts))}, in percent of {margin}"] if shifts else []
        return f"Yes: {'; '.join([*claims, moved] if beyond else claims)}."
    begin = "No" if finding == "fair" else f"Not decided at {tolerance:.0%}"
    largest = max(effects.shifts, key=lambda shift: abs(shift.value))
    side = "less" if largest.value < 0 else "more"
    most = f"The language that differs most, {_name(largest)}, is {side} similar by {abs(largest.value):.0%}"
    return f"{begin}: {moved}. {most}."


def _moved(effects: Effects, estimates: Estimates, margin: str) -> str:
    """How much similarity moves between captions in different languages, and what that includes."""
    if effects.beyond is not None:
        return (
            "between captions in different languages similarity to an image moves more than between captions "
            f"in one language, by {effects.beyond:.1%} of {margin}"
        )
    gap = estimates.one("similarity gap", images="matched")
    return (
        f"between captions in different languages similarity to an image moves by {gap.value:.3f}, "
        f"{effects.gap:.1%} of {margin}, what the captions say included"
    )


def _shifted(shifts: Sequence[Estimate], n: int) -> str:
    """Which languages' captions are less or more similar than others of the same images; "" for none."""
    sides = {
        "less": [shift for shift in shifts if shift.value < 0],
        "more": [shift for shift in shifts if shift.value > 0],
    }
    parts = [
        f"captions in {_named(those, n)} are {side} similar to their images than captions of the same images "
        "in other languages"
        for side, those in sides.items()
        if those
    ]
    return ", and ".join(part if at == 0 else part.split(" than ")[0] for at, part in enumerate(parts))


def _named(shifts: Sequence[Estimate], n: int) -> str:
    names = [f"{_name(shift)} (by {abs(shift.value):.0%})" for shift in shifts[:NAMED]]
    if len(shifts) > NAMED:
        names.append(f"{len(shifts) - NAMED} more of {n} languages")
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _name(shift: Estimate) -> str:
    return language_name(shift.quantity.keys["language"])


def _paraphrase(estimates: Estimates) -> str:
    same = estimates.maybe(SAME)
    if same is None:
        return ""
    beyond = estimates.maybe("gap beyond paraphrase")
    more = "" if beyond is None else f", two in different languages by {beyond.value:+.3f} more"
    return f"Two captions of one image in one language differ in similarity by {same.value:.3f}{more}."


def _not_judged(estimates: Estimates) -> str:
    few = [_name(shift) for shift in estimates.by("language", SHIFT) if not shift.judged]
    return f"Not judged, having too few images: {', '.join(few)}." if few else ""


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
