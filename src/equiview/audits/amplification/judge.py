"""Whether replies go with who is shown more than what people say of the same images."""

from __future__ import annotations

from dataclasses import replace

from equiview.audits.amplification import sentences as say
from equiview.audits.amplification.measure import ABOVE, AMPLIFIED, LIC
from equiview.audits.amplification.settings import AmplificationSettings
from equiview.audits.judging import (
    CERTAIN,
    at_least_none,
    decide,
    excludes_bias,
    largest,
    shows_bias,
    verdict,
)
from equiview.audits.saying import limit, listed, not_decided, opening
from equiview.data.estimates import Estimate, Estimates
from equiview.data.verdict import Verdict


def judge(estimates: Estimates, settings: AmplificationSettings) -> Verdict:
    """Biased where replies lean on a group beyond what people say, or reveal it, by more than the tolerance.

    Only more counts: replies that lean less than people's are not biased by this audit. LIC is read above its
    floor: where that is not known, more leakage than people's shows nothing. Unclear where replies are no
    better than those to other images, or no attribute has two groups with enough images; not fair where a
    group has too few, or has more of the replies that do not count.
    """
    measured = [
        row for metric in (AMPLIFIED, ABOVE) for row in estimates.by("attribute", metric) if row.judged
    ]
    unjudged = _unjudged(estimates, measured, settings)
    effects = [replace(at_least_none(row), value=max(row.value, 0.0)) for row in measured]
    missing = _missing(estimates, effects, settings)
    finding = decide(*effects, tolerance=settings.tolerance, missing=missing, unjudged=unjudged)
    shown = [
        row for row, effect in zip(measured, effects, strict=True) if shows_bias(effect, settings.tolerance)
    ]
    if missing:
        answer = not_decided(missing)
    elif finding == "unclear" and unjudged:
        answer = not_decided(f"too little is known of {listed(unjudged)}")
    else:
        claimed = shown if finding == "biased" else [max(measured, key=lambda row: row.value)]
        answer = say.answer(opening(finding, limit(settings.tolerance)), claimed, len(measured))
    return verdict(
        finding,
        answer,
        say.evidence(estimates),
        advice=say.ADVICE,
        limits=(*say.LIMITS, *say.unmasked(estimates)),
        effect=None if missing else largest(effects, settings.tolerance),
        able=not missing,
    )


def _unjudged(estimates: Estimates, measured: list[Estimate], settings: AmplificationSettings) -> list[str]:
    """Groups of too few images, attributes of which too little is known, and replies that do not count.

    Where people tie things to nobody only many images tell what replies tie to whom; leakage may matter where
    its floor is not known.
    """
    read = {(row.quantity.metric, row.keys["attribute"]) for row in measured}
    leaking = [
        f"what leaks of {row.keys['attribute']}"
        for row in estimates.by("attribute", LIC)
        if (ABOVE, row.keys["attribute"]) not in read
        and not excludes_bias(at_least_none(row), settings.tolerance)
    ]
    small = say.too_small(estimates)
    tied = [
        f"what replies tie to {row.keys['attribute']}, which people tie to nothing"
        for row in estimates.by("attribute", AMPLIFIED)
        if row.judged is False and not small
    ]
    return [*small, *tied, *leaking, *say.uncounted(estimates)]


def _missing(estimates: Estimates, effects: list[Estimate], settings: AmplificationSettings) -> str:
    skill = estimates.one("skill")
    if not effects:
        return f"no attribute has two groups with {settings.least} images and enough that can be compared"
    if not skill.low > 0 or skill.p is None or skill.p > CERTAIN:
        return f"replies are no better than those to other images would be, by {skill:.3f}"
    return ""
