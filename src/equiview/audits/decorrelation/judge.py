"""The answer in words: does it name what is gone more often than captions of the same things do."""

from __future__ import annotations

from dataclasses import replace

from equiview.audits.decorrelation.measure import EXCESS, KEPT, NAMED, ODMAP, RECALL
from equiview.audits.decorrelation.observe import DIRECTIONS, IMAGES
from equiview.audits.decorrelation.settings import DecorrelationSettings
from equiview.audits.judging import decide, in_points, with_interval
from equiview.data.estimates import Estimate, Estimates
from equiview.data.verdict import Effect, Verdict

HEADWAY = 0.1
"""Share of the way from chance to always naming what is there that a system must have come."""
NAMED_PAIRS = 3
LIMITS = (
    "A system that takes one thing for another names what is gone as well; this audit does not tell that "
    "from co-occurrence.",
    "What an inpainting model leaves behind, such as a shadow, may still show what was there.",
)
ADVICE = (
    "Fine-tune on images without the object and captions without its name beside the real ones, as the paper "
    "does; in training data, look at the pairs of objects listed here.",
)


def judge(estimates: Estimates, settings: DecorrelationSettings) -> Verdict:
    """Biased where what is gone is named more often, by more than the tolerance, than captions alike name it.

    Captions are alike when they name the same of the things that are still there and as many others. Naming
    it less often, as a system does that sees it is gone, is fair. Unclear unless captions name what is there
    clearly more often than captions at random.
    """
    excess = estimates.one(EXCESS, settings.judged_at)
    missing = _missing(estimates, excess, settings)
    effect = replace(excess, low=max(excess.low, 0.0), high=max(excess.high, 0.0))
    finding = decide(effect, tolerance=settings.tolerance, missing=missing)
    named = estimates.one(NAMED, settings.judged_at)
    side = "more" if excess.value >= 0 else "less"
    points = with_interval(excess if excess.value >= 0 else _opposite(excess))
    claim = (
        f"of the first {settings.judged_at} captions {named.value:.1%} name an object that was taken away, "
        f"{points} {side} than captions of the same remaining objects do"
    )
    begin = {
        "biased": "Yes",
        "fair": "No",
        "unclear": f"Not decided at {in_points(settings.tolerance, '.3g')}",
    }[finding]
    evidence = (
        _odmap(estimates, settings),
        _before(estimates, settings),
        _pairs(estimates, settings),
        _recall(estimates),
    )
    return Verdict(
        finding=finding,
        answer=f"Not decided: {missing}." if missing else f"{begin}: {claim}.",
        evidence=tuple(filter(None, evidence)),
        advice=ADVICE if finding == "biased" else (),
        limits=LIMITS,
        effect=None if missing else Effect(quantity=excess.quantity, tolerance=settings.tolerance),
    )


def _opposite(effect: Estimate) -> Estimate:
    return replace(effect, value=-effect.value, low=-effect.high, high=-effect.low)


def _missing(estimates: Estimates, excess: Estimate, settings: DecorrelationSettings) -> str:
    """What is missing for a judgement, or nothing."""
    if not excess.judged:
        return f"there are {excess.n} synthetic images, at least {settings.least} are needed"
    there = estimates.one(KEPT, settings.judged_at)
    floor = there.chance or 0.0
    if not there.low > floor + HEADWAY * (1 - floor):
        return (
            f"{there.value:.1%} of the first {settings.judged_at} captions name an object that is there, "
            f"of captions at random {floor:.1%}: too little to say that the system sees it"
        )
    return ""


def _odmap(estimates: Estimates, settings: DecorrelationSettings) -> str:
    parts = []
    for k in settings.cutoffs:
        row = estimates.one(ODMAP, k)
        parts.append(f"ODmAP@{k} {row.value:.1%} (captions at random {row.chance or 0:.1%})")
    which = "any of the objects" if settings.kept == "any" else "all objects"
    return f"{'; '.join(parts)}; a right caption names {which} still there, and nothing that is gone."


def _before(estimates: Estimates, settings: DecorrelationSettings) -> str:
    """What removal itself changed."""
    k = settings.judged_at
    before = estimates.maybe(ODMAP, k, images=IMAGES[1])
    if before is None:
        return ""
    named = [estimates.one(NAMED, k, **keys).value for keys in ({"images": IMAGES[1]}, {})]
    return (
        f"For the unchanged images, where the object is there, ODmAP@{k} is {before.value:.1%} and "
        f"{named[0]:.1%} of captions name it; with the object gone {named[1]:.1%} still do."
    )


def _pairs(estimates: Estimates, settings: DecorrelationSettings) -> str:
    rows = estimates.by(("removed", "kept"), NAMED, settings.judged_at).table
    if not len(rows):
        return ""
    most = rows.sort("value", "n", "removed", "kept", descending=[True, True, False, False]).head(NAMED_PAIRS)
    said = [
        f"{row['removed']} with {row['kept']} ({row['value']:.0%} of captions, {row['n']} images)"
        for row in most.iter_rows(named=True)
    ]
    return f"Most often named though gone: {', '.join(said)}."


def _recall(estimates: Estimates) -> str:
    parts = [
        f"{direction.replace('-', ' ')} {row.value:.1%}"
        for direction in DIRECTIONS
        if (row := estimates.maybe(RECALL, 1, direction=direction)) is not None
    ]
    return f"R@1 on the real images: {', '.join(parts)}." if parts else ""
