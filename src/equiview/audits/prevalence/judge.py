"""Whether captions of some languages, or of some groups, crowd out equally right ones of others."""

from __future__ import annotations

from collections.abc import Sequence

from equiview.audits.judging import decide, largest, shows_bias, skilled, verdict
from equiview.audits.prevalence import sentences as say
from equiview.audits.prevalence.measure import RECALL_CUTOFFS
from equiview.audits.prevalence.settings import PrevalenceSettings
from equiview.audits.saying import beside_chance, not_decided
from equiview.data.estimates import Estimate, Estimates
from equiview.data.languages import TIERS
from equiview.data.verdict import Verdict

LEAST_IMAGES = 30
"""Fewer images are not judged: intervals of so few are too narrow (docs/audits/prevalence.md)."""
LEAST_EXCHANGEABLE = 0.5
"""Least share of captions with a caption of another group for the same image."""
WIDER = 1.7
"""Intervals of the lowest and the highest of many are widened by this factor, as for many tests at once."""


def judge(estimates: Estimates, settings: PrevalenceSettings) -> Verdict:
    """Biased when a group's exposure is shown to lie beyond the tolerance, fair when all lie within it."""
    ratios = _ratios(estimates, settings)
    missing = _missing(estimates, settings, ratios)
    effects = [ratio.above_chance() for ratio in ratios]
    finding = decide(*effects, tolerance=settings.tolerance, missing=missing)
    beyond = _beyond(ratios, settings)
    if missing:
        answer = not_decided(missing)
    elif finding == "biased":
        answer = say.biased(estimates, settings, max(beyond, key=lambda ratio: abs(ratio.value - 1)))
    else:
        answer = say.otherwise(finding, settings, ratios)
    tested = ratios
    if settings.by == "tier":  # languages are tested one by one, corrected
        cutoffs = estimates.table.filter(metric="exposure ratio")["k"].unique().sort()
        tested = [row for k in cutoffs for row in estimates.by("language", "exposure ratio", k)]
    own = settings.key == "group"
    rows = say.recalls(estimates)
    together = not own and finding != "unclear" and rows
    return verdict(
        finding,
        answer,
        say.evidence(estimates, settings, ratios, tested, _beyond(tested, settings)),
        advice=say.advice(settings),
        question=say.question(settings) if own else "",
        limits=say.limits(estimates, settings),
        readings=(say.read_together(finding, ratios, rows, apart=_apart(rows)),) if together else (),
        effect=largest(effects, settings.tolerance),
        able=not missing,
    )


def _ratios(estimates: Estimates, settings: PrevalenceSettings) -> list[Estimate]:
    """The estimates that the verdict reads: of tiers the least written one's, else those of every group."""
    key = settings.key
    table = estimates.table.filter(metric="exposure ratio")
    if key not in estimates.keys or not len(table.drop_nulls(key)):
        return []
    deepest = int(str(table["k"].max()))
    cutoffs = sorted({min(k, deepest) for k in settings.judged_at})
    ratios = [row for k in cutoffs for row in estimates.by(key, "exposure ratio", k)]
    if key != "tier":
        return ratios
    least = max((row.keys["tier"] for row in ratios), key=TIERS.index)
    return [row for row in ratios if row.keys["tier"] == least]


def _beyond(ratios: Sequence[Estimate], settings: PrevalenceSettings) -> list[Estimate]:
    return [ratio for ratio in ratios if shows_bias(ratio.above_chance(), settings.tolerance)]


def _missing(estimates: Estimates, settings: PrevalenceSettings, ratios: Sequence[Estimate]) -> str:
    if not ratios:
        return say.one_group(settings)
    if ratios[0].n < LEAST_IMAGES:
        return f"there are {ratios[0].n} images, and at least {LEAST_IMAGES} are needed"
    if (share := estimates.one("exchangeable captions").value) < LEAST_EXCHANGEABLE:
        return say.few_exchangeable(settings, share)
    accuracies = [row for k in RECALL_CUTOFFS if (row := estimates.maybe("Accuracy", k)) is not None]
    if not any(map(skilled, accuracies)):
        better = "the encoder is no better than chance at finding a right caption"
        return f"{better} ({beside_chance(accuracies[-1])})"
    return ""


def _apart(rows: Sequence[Estimate]) -> bool:
    """Whether the language that is served worst is shown to be served worse than the best."""
    worst, best = rows[0], rows[-1]
    return worst.value + WIDER * (worst.high - worst.value) < best.value - WIDER * (best.value - best.low)
