"""Individual fairness put into words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from equiview.audits.individual.measure import MARGIN, RELATIVE_BEYOND, RELATIVE_GAP, SAME, SHIFT
from equiview.audits.individual.pairs import EQUAL, IMAGES, LEAST
from equiview.audits.saying import by_share, by_side, filled, language_of, levels, named, not_judged
from equiview.data.estimates import Estimate, Estimates
from equiview.data.languages import language_name

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


def biased(estimates: Estimates, shown: Sequence[Estimate], n: int) -> str:
    """The shifts that show bias, the largest first, of `n`, and the gap beyond paraphrase if it does."""
    shifts = [row for row in shown if "language" in row.keys]
    than = " than captions of the same images in other languages"
    parts: list[str] = []
    for side, those in by_side(shifts, "less", "more"):
        names = named(those, by_share, f"more of {n} languages")
        parts.append(f"captions in {names} are {side} similar to their images{'' if parts else than}")
    claims = [f"{', and '.join(parts)}, in percent of {_margin(estimates)}"] if parts else []
    return f"Yes: {'; '.join([*claims, _moved(estimates)] if len(shown) > len(shifts) else claims)}."


def otherwise(estimates: Estimates, begin: str, shifts: Sequence[Estimate]) -> str:
    """How much similarity moves, and the language that differs most."""
    largest = max(shifts, key=lambda shift: abs(shift.value))
    side = "less" if largest.value < 0 else "more"
    return (
        f"{begin}: {_moved(estimates)}. The language that differs most, {language_of(largest)}, is {side} "
        f"similar {by_share(largest)}."
    )


def evidence(estimates: Estimates) -> Iterator[str]:
    """What the answer rests on."""
    if same := estimates.maybe(SAME):
        beyond = estimates.maybe("gap beyond paraphrase")
        more = f", two in different languages by {beyond.value:+.3f} more" if beyond else ""
        yield f"Two captions of one image in one language differ in similarity by {same.value:.3f}{more}."
    yield _alpha(estimates)
    right, wrong = (estimates.one("similarity gap", images=kind).value for kind in IMAGES)
    yield f"Mean gap with the caption's own image {right:.3f}, with a wrong one {wrong:.3f}."
    gaps = estimates.by(("language", "other"), "similarity gap", images="matched")
    if len(gaps) >= LEAST:
        rows = sorted(gaps, key=lambda row: (row.value, row.keys["language"], row.keys["other"]))
        least, most = (
            f"{language_of(row)} and {language_name(row.keys['other'])} ({row.value:.3f})"
            for row in (rows[0], rows[-1])
        )
        yield f"Furthest apart of {len(rows)} pairs of languages: {most}; nearest: {least}."
    similar = estimates.by("language", "similarity", images="matched")
    if len(similar) >= LEAST:
        rows = sorted(similar, key=lambda row: (row.value, row.keys["language"]))
        low, high = levels(rows[:3], ".2f"), levels(rows[-1:], ".2f")
        yield f"Captions least similar to their images: {low}; most: {high}."
    yield not_judged(estimates.by("language", SHIFT), "images")


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
