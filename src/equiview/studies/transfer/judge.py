"""Whether bias before predicts bias after."""

from __future__ import annotations

from collections.abc import Sequence

from equiview.audits.judging import ALPHA
from equiview.audits.judging import verdict as verdict_of
from equiview.audits.saying import not_decided
from equiview.data.metric import quantity
from equiview.data.verdict import Effect, Finding, Verdict
from equiview.studies.transfer import sentences as say
from equiview.studies.transfer.correlate import RHO, Pair
from equiview.studies.transfer.settings import TransferSettings


def judged(pairs: Sequence[Pair], models: int, settings: TransferSettings) -> Verdict:
    """The verdict from all correlations.

    "biased" (Yes) when a correlation is shown after Holm's correction over all of them; "fair" (No) when the
    interval of each lies within the tolerance; else "unclear", which is what few models usually give.
    """
    tested = sorted((pair for pair in pairs if pair.rho), key=lambda pair: -abs(pair.value))
    shown = [pair for pair in tested if (pair.p_holm or 0.0) <= ALPHA]
    within = all(
        abs(end) <= settings.tolerance for pair in tested if pair.rho for end in (pair.rho.low, pair.rho.high)
    )
    finding: Finding = "biased" if shown else "fair" if tested and within else "unclear"
    if not tested:
        answer = not_decided("no correlation could be computed")
    elif finding == "biased":
        answer = say.shown(shown, len(tested))
    elif finding == "fair":
        answer = f"No: every correlation lies within {settings.tolerance:g} of none."
    else:
        none = "no correlation" if len(tested) == 1 else f"none of {len(tested)} correlations"
        answer = not_decided(f"{none} is shown with {models} models")
    return verdict_of(
        finding,
        answer,
        say.evidence(tested, models, settings),
        advice=(),
        limits=(*(say.LIMITS if tested else ()), *say.undefined(pairs)),
        effect=Effect(
            quantity=quantity(RHO, None, **tested[0].keys), tolerance=settings.tolerance, among=len(tested)
        )
        if tested
        else None,
    ).stamped("transfer", say.QUESTION)
