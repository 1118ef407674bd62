"""Whether captions of some languages, or of some groups, crowd out equally right ones of others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from equiview.audits.judging import decide, excludes_bias, shown, skilled, verdict
from equiview.audits.prevalence import sentences as say
from equiview.audits.prevalence.exposure import ALIKE, LEAST_EXCHANGEABLE, LOG_RATIO
from equiview.audits.prevalence.measure import RECALL_CUTOFFS
from equiview.audits.prevalence.searched import allowing
from equiview.audits.prevalence.settings import PrevalenceSettings
from equiview.audits.saying import beside_chance, not_decided
from equiview.data.estimates import Estimate, Estimates
from equiview.data.languages import TIERS
from equiview.data.verdict import Effect, Verdict

LEAST_IMAGES = 30
"""Fewer images are not judged: intervals of so few are too narrow (docs/audits/prevalence.md)."""
OF_TIER = 0.8
"""Part of the error rate that is spent on the tier; the rest is for the languages, one by one."""
WIDER = 1.7
"""Intervals of the lowest and the highest of many are widened by this factor, as for many tests at once."""
Judged = Callable[[Estimates, str, PrevalenceSettings], list[Estimate]]


def judge(estimates: Estimates, settings: PrevalenceSettings) -> Verdict:
    """Biased when a group's exposure is shown to lie beyond the tolerance, fair when all lie within it.

    Where the tier is judged, languages are tested as well: one that is shown to lie beyond makes it biased,
    and one that is not known to lie within it forbids "fair". So does an encoder that finds a right caption
    for no larger share of the images than the tolerance: whose right captions it shows then hardly counts.

    Of an approximate search, intervals are widened by what it was measured to change; what then is unclear,
    and would not be so otherwise, is said to be so because of the search.
    """
    if settings.index is None:
        return _judge(estimates, settings, _judged)
    as_found = _judge(estimates, settings, _judged)
    wider = _judge(estimates, settings, _allowing_for_search)
    if wider.finding == as_found.finding or wider.finding != "unclear":
        return wider
    answer = say.search_decides(estimates, settings, as_found.finding)
    return wider.model_copy(update={"answer": answer})


def _judge(estimates: Estimates, settings: PrevalenceSettings, judged: Judged) -> Verdict:
    """The verdict over the log ratios that `judged` gives of the groups of a key."""
    tolerance = settings.log_tolerance
    rows = judged(estimates, settings.key, settings)
    languages = judged(estimates, "language", settings) if settings.by == "tier" else []
    missing = _missing(estimates, rows, settings)
    effects = rows
    if settings.by == "tier" and rows:
        least = max((row.keys["tier"] for row in rows), key=TIERS.index)
        effects = [_spent(row, OF_TIER) for row in rows if row.keys["tier"] == least]
    languages = [_spent(row, 1 - OF_TIER) for row in languages]
    beyond = shown(effects, tolerance) or shown(languages, tolerance)
    finding = "biased" if beyond and not missing else decide(*effects, tolerance=tolerance, missing=missing)
    read = [*effects, *languages] if beyond and beyond[0] not in effects else effects
    small = _unknown(estimates, languages or rows, "language" if languages else settings.key, tolerance)
    rarely = _rarely_right(estimates, settings) if finding == "fair" else ""
    if finding == "fair" and (small or rarely):
        finding = "unclear"
    if missing or rarely:
        answer = not_decided(missing or rarely)
    elif finding == "biased":
        answer = say.biased(estimates, settings, beyond[0], len(read), shown(languages or rows, tolerance))
    else:
        answer = say.otherwise(finding, settings, effects, small)
    open_rows = [row for row in effects if not excludes_bias(row, tolerance)]
    shown_by = beyond or sorted(open_rows or effects, key=lambda row: -abs(row.value))
    own = settings.key == "group"
    recalls = say.recalls(estimates)
    together = not own and finding != "unclear" and recalls
    return verdict(
        finding,
        answer,
        say.evidence(estimates, settings, effects, languages or rows, shown(languages or rows, tolerance)),
        advice=say.advice(settings),
        question=say.question(settings) if own else "",
        limits=say.limits(settings),
        readings=(say.read_together(finding, effects, recalls, apart=_apart(recalls)),) if together else (),
        effect=Effect(quantity=shown_by[0].quantity, tolerance=tolerance, among=len(read))
        if shown_by
        else None,
        able=not missing,
    )


def _judged(estimates: Estimates, key: str, settings: PrevalenceSettings) -> list[Estimate]:
    """The logarithms of ratios at the cutoffs that the verdict reads, of all groups."""
    table = estimates.table.filter(metric=LOG_RATIO)
    if key not in estimates.keys or not len(table.drop_nulls(key)):
        return []
    deepest = int(str(table["k"].max()))
    cutoffs = sorted({min(k, deepest) for k in settings.judged_at})
    return [row for k in cutoffs for row in estimates.by(key, LOG_RATIO, k)]


def _allowing_for_search(estimates: Estimates, key: str, settings: PrevalenceSettings) -> list[Estimate]:
    """The same, with intervals that hold what an exact search would give as well."""
    return [allowing(row, estimates) for row in _judged(estimates, key, settings)]


def _spent(row: Estimate, part: float) -> Estimate:
    """The row with the p value that it has when `part` of the error rate is spent on its family."""
    p = row.p if row.p_holm is None else row.p_holm
    return replace(row, p_holm=None if p is None else min(1.0, p / part))


def _unknown(estimates: Estimates, rows: Sequence[Estimate], key: str, tolerance: float) -> list[str]:
    """Groups of the pool that are not known to lie within the tolerance where they are known best."""
    if key not in estimates.keys:
        return []
    best: dict[str, Estimate] = {}
    for row in sorted(rows, key=lambda row: row.high - row.low):
        best.setdefault(row.keys[key], row)
    known = {name for name, row in best.items() if excludes_bias(row, tolerance)}
    names = estimates.table.filter(metric="exposure")[key].drop_nulls().unique().sort()
    return [name for name in names if name not in known]


def _missing(estimates: Estimates, rows: Sequence[Estimate], settings: PrevalenceSettings) -> str:
    if rows and rows[0].n < LEAST_IMAGES:
        return f"there are {rows[0].n} images, and at least {LEAST_IMAGES} are needed"
    alike = [row for row in estimates if row.quantity.metric == ALIKE]
    if alike and (most := max(row.value for row in alike)) < LEAST_EXCHANGEABLE:
        return say.few_exchangeable(settings, most)
    if not rows:
        return say.one_group(settings)
    accuracies = _accuracies(estimates)
    if not any(map(skilled, accuracies)):
        better = "the encoder is no better than chance at finding a right caption"
        return f"{better} ({beside_chance(accuracies[-1])})"
    return ""


def _accuracies(estimates: Estimates) -> list[Estimate]:
    return [row for k in RECALL_CUTOFFS if (row := estimates.maybe("Accuracy", k)) is not None]


def _rarely_right(estimates: Estimates, settings: PrevalenceSettings) -> str:
    """That so few images find a right caption that exposure would be even were none of a group's shown."""
    accuracies = _accuracies(estimates)
    if any(row.low - (row.chance or 0.0) > settings.tolerance for row in accuracies):
        return ""
    return say.rarely_right(accuracies[-1], settings)


def _apart(rows: Sequence[Estimate]) -> bool:
    """Whether the language that is served worst is shown to be served worse than the best."""
    worst, best = rows[0], rows[-1]
    return worst.value + WIDER * (worst.high - worst.value) < best.value - WIDER * (best.value - best.low)
