"""How much the language of a caption matters beside the image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from equiview.audits.individual import sentences as say
from equiview.audits.individual.measure import MARGIN, RELATIVE_BEYOND, RELATIVE_GAP, RELATIVE_SHIFT
from equiview.audits.individual.settings import IndividualSettings
from equiview.audits.judging import at_least_none, better_by, decide, largest, shown, verdict
from equiview.audits.saying import not_decided
from equiview.data.estimates import Estimate, Estimates
from equiview.data.verdict import Verdict


def judge(estimates: Estimates, settings: IndividualSettings) -> Verdict:
    """Biased where a language is shifted, or moves similarity beyond paraphrase, by more than the tolerance.

    Fair where none is shifted by more and the gap beyond paraphrase is within the tolerance, or the whole gap
    where images have one caption a language: captions that say different things have such a gap whatever
    their languages, so that it can show that language matters little, but never that it matters much. A
    language that captions too few images to judge forbids "fair". The tolerance is a share of the margin
    between a right image and a wrong one.
    """
    shifts = [shift for shift in estimates.by("language", RELATIVE_SHIFT) if shift.judged]
    unjudged = say.unjudged(estimates, settings)
    beyond = estimates.at(RELATIVE_BEYOND.quantity)
    paraphrased = beyond is not None and bool(beyond.judged)
    missing = _missing(estimates, shifts, settings)
    effects = [] if missing else [*shifts, _moved(estimates, beyond if paraphrased else None)]
    finding = decide(*effects, tolerance=settings.tolerance, missing=missing, unjudged=unjudged)
    biased = shown(effects, settings.tolerance)
    if missing:
        answer = not_decided(missing)
    elif finding == "biased":
        answer = say.biased(estimates, biased, len(shifts))
    elif finding == "fair":
        answer = say.fair(estimates, len(shifts), settings)
    else:
        answer = say.undecided(estimates, shifts, unjudged, settings)
    return verdict(
        finding,
        answer,
        say.evidence(estimates, unjudged if biased else ""),
        advice=say.ADVICE,
        limits=say.LIMITS if paraphrased else (say.ONE_CAPTION, *say.LIMITS),
        effect=largest(effects, settings.tolerance),
        able=not missing,
    )


def _moved(estimates: Estimates, beyond: Estimate | None) -> Estimate:
    """The gap beyond paraphrase, or the whole gap, which no permutation tests."""
    if beyond:
        return at_least_none(beyond)
    return replace(estimates.one(RELATIVE_GAP.quantity.metric), p=1.0, p_holm=1.0)


def _missing(estimates: Estimates, shifts: Sequence[Estimate], settings: IndividualSettings) -> str:
    margin = estimates.one(MARGIN.metric)
    if margin.n < settings.least:
        return f"only {margin.n} images are captioned in two languages, at least {settings.least} are needed"
    if better := better_by(margin):
        return (
            f"captions are {better} more similar to their own images than to wrong ones, the margin is "
            f"{margin:.3f}"
        )
    return "" if shifts else f"no language captions {settings.least} images that others caption too"
