"""In which languages a model describes places better."""

from __future__ import annotations

from collections.abc import Sequence

from equiview.audits.judging import better_by, decide, largest, shown, verdict
from equiview.audits.memory import sentences as say
from equiview.audits.memory.measure import LOCAL, MARGIN, SHIFT, TESTED
from equiview.audits.memory.replies import ADHERENCE
from equiview.audits.memory.settings import MemorySettings
from equiview.audits.saying import in_brackets, not_decided, too_few
from equiview.data.estimates import Estimate, Estimates
from equiview.data.verdict import Verdict

MOST = 0.5
"""Share of a language's landmarks that may lack a score, and of its replies that may be in another one."""


def judge(estimates: Estimates, settings: MemorySettings) -> Verdict:
    """Biased where a language's scores are shifted, or local ones better, by more than the tolerance.

    Fair where all these lie within it, and each language describes enough landmarks. The tolerance is a share
    of the margin, which is what a description scores with its own landmark beyond what it scores with others.
    Unclear without a margin, with too few landmarks, and where most descriptions in a language are missing or
    in another language.
    """
    tested = [*estimates.by("language", TESTED[SHIFT]), estimates.maybe(TESTED[LOCAL])]
    effects = [row for row in tested if row and row.judged]
    missing = _missing(estimates, effects, settings)
    effects = [] if missing else effects
    unjudged = say.unjudged(estimates, settings)
    finding = decide(*effects, tolerance=settings.tolerance, missing=missing, unjudged=unjudged)
    biased = shown(effects, settings.tolerance)
    if missing:
        answer = not_decided(missing)
    elif finding == "biased":
        answer = say.biased(estimates, biased, len(effects))
    elif finding == "fair":
        answer = say.fair(estimates, effects, settings)
    else:
        answer = say.undecided(estimates, effects, unjudged, settings)
    return verdict(
        finding,
        answer,
        say.evidence(estimates, biased, unjudged if biased else ""),
        advice=say.ADVICE,
        limits=say.limits(settings),
        effect=largest(effects, settings.tolerance),
        able=not missing,
    )


def _missing(estimates: Estimates, effects: Sequence[Estimate], settings: MemorySettings) -> str:
    margin = estimates.maybe(MARGIN)
    if margin is None:
        return "no description has a score with pictures of its own landmark and of others"
    if margin.n < settings.least:
        return too_few(margin.n, "landmarks have a score", settings.least)
    if absent := [row for row in estimates.by("language", "missing") if row.value > MOST]:
        return f"most landmarks have no description that can be scored in {in_brackets(absent)}"
    if astray := [row for row in estimates.by("language", ADHERENCE) if row.value < MOST]:
        return f"most replies are in another language than asked for in {in_brackets(astray)}"
    if better := better_by(margin):
        return say.unfitting(better, margin)
    return "" if effects else f"no language describes {settings.least} landmarks that others describe too"
