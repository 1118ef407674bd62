"""Individual fairness put into words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from equiview.audits.individual.measure import MARGIN, RELATIVE_BEYOND, RELATIVE_GAP, SAME, SHIFT
from equiview.audits.individual.pairs import EQUAL, IMAGES
from equiview.audits.individual.settings import IndividualSettings
from equiview.audits.saying import (
    NAMED,
    by_share,
    by_side,
    filled,
    language_of,
    levels,
    named,
    of_many,
    too_few_of,
)
from equiview.data.estimates import Estimate, Estimates

LIMITS = (
    "A shift of a language includes all that its captions have in common, such as being short.",
    "Individual fairness does not prevent unequal accuracy (F, section 5.1): read it beside parity.",
)
ONE_CAPTION = (
    "With one caption for each image and language, what captions say and what their language does cannot be "
    "told apart: part of every gap is what they say."
)
ADVICE = (
    "Align texts of other languages to the encoder's strongest one: `equiview mitigate distill SUBJECT "
    "--benchmark BENCHMARK --out DIR`. Its loss is the distance of parallel captions, and the chord bounds "
    "the gap.",
)


def unjudged(estimates: Estimates, settings: IndividualSettings) -> str:
    """The languages that caption too few images to judge; "" where there is none."""
    few = {language_of(row): row.n for row in estimates.by("language", SHIFT) if not row.judged}
    return too_few_of("images captioned in", few, settings.least) if few else ""


def biased(estimates: Estimates, shown: Sequence[Estimate], n: int) -> str:
    """The shifts that show bias, the largest first, of `n`, and the gap beyond paraphrase if it does."""
    shifts = [row for row in shown if "language" in row.keys]
    than = " than captions of the same images in other languages"
    parts: list[str] = []
    for side, those in by_side(shifts, "less", "more"):
        names = named(those, lambda row: by_share(row) + (of_many(n) if row is shifts[0] else ""))
        parts.append(f"captions in {names} are {side} similar to their images{'' if parts else than}")
    claims = [f"{', and '.join(parts)}, in percent of {_margin(estimates)}"] if parts else []
    return f"Yes: {'; '.join([*claims, _moved(estimates)] if len(shown) > len(shifts) else claims)}."


def fair(estimates: Estimates, n: int, settings: IndividualSettings) -> str:
    """How much similarity moves, and that no language is shifted by much."""
    return (
        f"No: {_moved(estimates)}. Captions in all {n} languages are about as similar to their images, "
        f"within {settings.tolerance:.0%} of that, intervals included."
    )


def undecided(
    estimates: Estimates, shifts: Sequence[Estimate], unjudged: str, settings: IndividualSettings
) -> str:
    """How much similarity moves, the language that differs most, and what could not be judged."""
    largest = max(shifts, key=lambda shift: abs(shift.value))
    side = "less" if largest.value < 0 else "more"
    return (
        f"Unclear at {settings.tolerance:.0%}: {f'{unjudged}; ' if unjudged else ''}{_moved(estimates)}. "
        f"The language that differs most, {language_of(largest)}, is {side} similar "
        f"{by_share(largest)}{of_many(len(shifts))}."
    )


def evidence(estimates: Estimates, unjudged: str) -> Iterator[str]:
    """What the answer rests on."""
    yield f"Not judged: {unjudged}." if unjudged else ""
    if same := estimates.maybe(SAME):
        beyond = estimates.maybe("gap beyond paraphrase")
        more = f", two in different languages by {beyond.value:+.3f} more" if beyond else ""
        yield f"Two captions of one image in one language differ in similarity by {same.value:.3f}{more}."
    yield _alpha(estimates)
    right, wrong = (estimates.one("similarity gap", images=kind).value for kind in IMAGES)
    yield f"Mean gap with the caption's own image {right:.3f}, with a wrong one {wrong:.3f}."
    lower = [row for row in estimates.by("language", SHIFT) if row.judged and row.of_many().high < 0]
    similar = (
        estimates.one("similarity", images="matched", language=row.keys["language"])
        for row in sorted(lower, key=lambda row: row.value)[:NAMED]
    )
    yield filled(
        f"Captions in {len(lower)} languages are shown to be less similar to their images than others of the "
        "same images, most so: {}.",
        (levels([row], ".2f") for row in similar),
    )


def _margin(estimates: Estimates) -> str:
    return f"what a right image has over a wrong one ({estimates.one(MARGIN.metric).value:.3f})"


def _moved(estimates: Estimates) -> str:
    """How much similarity moves between captions in different languages, and what that includes."""
    between = "between captions in different languages similarity to an image moves"
    margin, beyond = _margin(estimates), estimates.at(RELATIVE_BEYOND.quantity)
    if beyond and beyond.judged:
        return f"{between} more than between captions in one language, by {beyond:.1%} of {margin}"
    gap = estimates.one(RELATIVE_GAP.quantity.metric)
    whole = estimates.one("similarity gap", images="matched").value
    return f"{between} by {whole:.3f}, {gap:.1%} of {margin}, what the captions say included"


def _alpha(estimates: Estimates) -> str:
    names = {"raw": "vectors as they are", "unit": "vectors of length 1"}
    bounds = {vectors: estimates.one("alpha bound", vectors=vectors).value for vectors in names}
    if abs(bounds["raw"] - 1) <= EQUAL:
        names = {"unit": "vectors as they are, of length 1"}
    ratios = [
        f"{alpha.value:.3g} of at most {bounds[vectors]:.3g} ({name})"
        for vectors, name in names.items()
        if (alpha := estimates.maybe("alpha-hat", images="matched", vectors=vectors))
    ]
    return filled("Largest ratio of gap to distance, alpha-hat: {}. No pair exceeds it.", ratios, "; ")
