"""Whether replies go with who is shown more than what people say of the same images."""

from __future__ import annotations

from dataclasses import replace

from equiview.audits.amplification import sentences as say
from equiview.audits.amplification.measure import AMPLIFICATION, LIC
from equiview.audits.amplification.settings import AmplificationSettings
from equiview.audits.judging import CERTAIN, at_least_none, decide, largest, shows_bias, verdict
from equiview.audits.saying import limit, not_decided, opening
from equiview.data.estimates import Estimate, Estimates
from equiview.data.verdict import Verdict


def judge(estimates: Estimates, settings: AmplificationSettings) -> Verdict:
    """Biased where replies lean on a group beyond what people say, or reveal it, by more than the tolerance.

    Only more counts: replies that lean less than people's are not biased by this audit. Unclear where replies
    are no better than those to other images, or no attribute has two groups with enough images.
    """
    measured = [
        row for metric in (AMPLIFICATION, LIC) for row in estimates.by("attribute", metric) if row.judged
    ]
    effects = [replace(at_least_none(row), value=max(row.value, 0.0)) for row in measured]
    missing = _missing(estimates, effects, settings)
    finding = decide(*effects, tolerance=settings.tolerance, missing=missing)
    shown = [
        row for row, effect in zip(measured, effects, strict=True) if shows_bias(effect, settings.tolerance)
    ]
    if missing:
        answer = not_decided(missing)
    else:
        claimed = shown if finding == "biased" else [max(measured, key=lambda row: row.value)]
        answer = say.answer(opening(finding, limit(settings.tolerance)), claimed)
    return verdict(
        finding,
        answer,
        say.evidence(estimates),
        advice=say.ADVICE,
        limits=(*say.LIMITS, *say.unmasked(estimates)),
        effect=None if missing else largest(effects, settings.tolerance),
        able=not missing,
    )


def _missing(estimates: Estimates, effects: list[Estimate], settings: AmplificationSettings) -> str:
    skill = estimates.one("skill")
    if not effects:
        return f"no attribute has two groups with {settings.least} images and enough that can be compared"
    if not skill.low > 0 or skill.p is None or skill.p > CERTAIN:
        return f"replies are no better than those to other images would be, by {skill:.3f}"
    return ""
