"""Prevalence bias put into words."""

from __future__ import annotations

from collections.abc import Sequence

from equiview.audits.charts import named
from equiview.audits.judging import decide, largest, shows_bias
from equiview.audits.prevalence.measure import RECALL_CUTOFFS
from equiview.audits.prevalence.settings import PrevalenceSettings
from equiview.data.estimates import Estimate, Estimates
from equiview.data.languages import TIERS, language_name
from equiview.data.verdict import Finding, Reading, Verdict

LEAST_IMAGES = 30
"""Fewer images are not judged: intervals of so few are too narrow (docs/audits/prevalence.md)."""
LEAST_EXCHANGEABLE = 0.5
"""Share of the captions that must have captions of another group beside them."""
SKILL = 0.001
"""How unlikely by chance an encoder's accuracy must be, for its lists to be judged."""
LIMITS = ("Even exposure is not correctness: read it beside accuracy and recall.",)
TIER_LIMIT = (
    "Tiers follow the web's shares of languages (CommonCrawl CC-MAIN-2025-18), not numbers of speakers."
)
POOL_LIMIT = (
    "Which image a caption is of is not known for all captions, so lists are compared with the whole pool: "
    "where languages have captions of different images, the content of the queries counts as well."
)
ADVICE = (
    "Align other languages' texts to the encoder's strongest one (distillation on parallel captions).",
    "Until then, retrieve within each language and merge lists by rank instead of by score.",
)
GROUP_ADVICE = (
    "Until its cause is found, retrieve within each {by} and merge lists by rank instead of score.",
)
MORALS = {
    ("biased", True): "Exposure is uneven, and languages are served unequally.",
    ("biased", False): "Exposure is uneven though each language is served alike: scores differ between them.",
    ("fair", True): "Exposure is even, and still some languages are served worse.",
    ("fair", False): "Even by both.",
}
"""What exposure and accuracy (apart or not) say together."""


def judge(estimates: Estimates, settings: PrevalenceSettings) -> Verdict:
    """Biased when a group's exposure is shown to lie beyond the tolerance, fair when all lie within it."""
    ratios = _ratios(estimates, settings)
    missing = _missing(estimates, settings, ratios)
    effects = [ratio.above_chance() for ratio in ratios]
    finding = decide(*effects, tolerance=settings.tolerance, missing=missing)
    beyond = [ratio for ratio in ratios if shows_bias(ratio.above_chance(), settings.tolerance)]
    answer = {
        "biased": lambda: _biased(estimates, settings, beyond),
        "fair": lambda: _fair(settings, ratios),
        "unclear": lambda: f"Not decided: {missing or _between(settings, ratios)}.",
    }[finding]()
    own = settings.by not in ("tier", "language")
    advice = tuple(line.format(by=settings.by) for line in GROUP_ADVICE) if own else ADVICE
    evidence = (
        *([] if own or settings.by == "language" else [_exposure(estimates, ratio) for ratio in ratios]),
        _groups(ratios, settings) if settings.by != "tier" else _languages(estimates, settings),
        _divergence(estimates, settings),
        _worst(estimates),
        _single(estimates),
        _unknown(estimates),
    )
    return Verdict(
        finding=finding,
        answer=answer,
        question=f"Do captions of some values of {settings.by!r} crowd out equally right ones of others?"
        if own
        else "",
        evidence=tuple(filter(None, evidence)),
        advice=advice if finding == "biased" else (),
        limits=_limits(estimates, settings),
        readings=() if own else _read_together(estimates, finding, ratios),
        effect=largest(effects, settings.tolerance),
    )


def _key(settings: PrevalenceSettings) -> str:
    """The key of the groups that are judged."""
    return settings.by if settings.by in ("tier", "language") else "group"


def _ratios(estimates: Estimates, settings: PrevalenceSettings) -> list[Estimate]:
    """The estimates that the verdict reads: of tiers the least written one's, else those of every group."""
    key = _key(settings)
    table = estimates.table.filter(metric="exposure ratio")
    if key not in estimates.keys or not len(table.drop_nulls(key)):
        return []
    deepest = int(str(table["k"].max()))
    ratios = [
        row
        for k in sorted({min(k, deepest) for k in settings.judged_at})
        for row in estimates.by(key, "exposure ratio", k)
    ]
    if key != "tier":
        return ratios
    least = max((row.quantity.keys["tier"] for row in ratios), key=TIERS.index)
    return [row for row in ratios if row.quantity.keys["tier"] == least]


def _missing(estimates: Estimates, settings: PrevalenceSettings, ratios: Sequence[Estimate]) -> str:
    """What is missing for a judgement; nothing where there is enough."""
    if not ratios:
        one = {"tier": "tier of languages", "language": "language"}.get(
            settings.by, f"value of {settings.by!r}"
        )
        return f"the pool holds one {one} only, so none can crowd out another"
    if ratios[0].n < LEAST_IMAGES:
        return f"there are {ratios[0].n} images, and at least {LEAST_IMAGES} are needed"
    if (share := estimates.one("exchangeable captions").value) < LEAST_EXCHANGEABLE:
        return (
            f"only {share:.0%} of the captions have captions of their image beside them that are of another "
            f"{'tier' if settings.by == 'tier' else settings.by}, so there is too little to compare with"
        )
    accuracies = [row for k in RECALL_CUTOFFS if (row := estimates.maybe("Accuracy", k)) is not None]
    if not any(_skilled(row) for row in accuracies):
        row = accuracies[-1]
        return (
            "the encoder is no better than chance at finding a right caption "
            f"(Accuracy@{row.quantity.k} {row.value:.1%}, chance {row.chance or 0:.1%})"
        )
    return ""


def _skilled(accuracy: Estimate) -> bool:
    """Whether so many hits would be rare for a retriever that guesses (binomial test)."""
    from scipy.special import bdtrc  # slow to import

    hits, chance = round(accuracy.value * accuracy.n), accuracy.chance or 0.0
    return hits > 0 and chance < 1 and float(bdtrc(hits - 1, accuracy.n, chance)) <= SKILL


def _name(row: Estimate, settings: PrevalenceSettings) -> str:
    value = row.quantity.keys[_key(settings)]
    if settings.by == "tier":
        return f"captions in {value}-tier languages"
    if settings.by == "language":
        return f"captions in {language_name(value)}"
    return f"captions with {settings.by} {value!r}"


def _top(row: Estimate) -> str:
    k = row.quantity.k or 1
    return "rank 1" if k == 1 else f"the top {k}"


def _blind(settings: PrevalenceSettings) -> str:
    return f"a retriever blind to {'language' if settings.by in ('tier', 'language') else settings.by}"


def _exposed(estimates: Estimates, row: Estimate) -> Estimate:
    """The exposure behind a ratio; its chance is what is expected."""
    return estimates.one("exposure", row.quantity.k, **row.quantity.keys)


def _biased(estimates: Estimates, settings: PrevalenceSettings, beyond: Sequence[Estimate]) -> str:
    """The group and cutoff that lie farthest from their expectation."""
    row = max(beyond, key=lambda ratio: abs(ratio.value - 1))
    exposed = _exposed(estimates, row)
    return (
        f"Yes: {_name(row, settings)} get {exposed.value:.0%} of {_top(row)}, where {_blind(settings)} would "
        f"give them {exposed.chance:.0%} (ratio {row:.2f})."
    )


def _fair(settings: PrevalenceSettings, ratios: Sequence[Estimate]) -> str:
    tolerance = f"within {settings.tolerance:.0%} of what {_blind(settings)} would give"
    if settings.by != "tier":
        return f"No: every {settings.by}'s captions get exposure {tolerance}, at {_ranks(ratios)}."
    values = ", ".join(f"{row.value:.2f}" for row in ratios)
    return (
        f"No: {_name(ratios[0], settings)} get exposure {tolerance} them, at {_ranks(ratios)} "
        f"(ratio {values})."
    )


def _between(settings: PrevalenceSettings, ratios: Sequence[Estimate]) -> str:
    """Why neither is shown: the estimate whose interval is the widest."""
    row = max(ratios, key=lambda ratio: ratio.high - ratio.low)
    return (
        f"exposure of {_name(row, settings)} in {_top(row)} is {row:.2f} of what {_blind(settings)} would "
        f"give, neither shown to be beyond {settings.tolerance:.0%} of it nor to be within"
    )


def _ranks(ratios: Sequence[Estimate]) -> str:
    cutoffs = [str(k) for k in sorted({row.quantity.k or 1 for row in ratios})]
    return " and ".join(filter(None, [", ".join(cutoffs[:-1]), cutoffs[-1]])).join(["cutoffs ", ""])


def _exposure(estimates: Estimates, row: Estimate) -> str:
    exposed = _exposed(estimates, row)
    tier = row.quantity.keys["tier"].capitalize()
    return (
        f"{tier}-tier languages get {exposed.value:.0%} of {_top(row)}; a retriever blind to language would "
        f"give them {exposed.chance:.0%}: ratio {row:.2f}, {_p(row)}."
    )


def _p(row: Estimate) -> str:
    p = row.p_holm if row.p_holm is not None else row.p
    return "not tested" if p is None else f"p {'< .001' if p < 0.001 else f'= {p:.3f}'.replace('0.', '.', 1)}"


def _languages(estimates: Estimates, settings: PrevalenceSettings) -> str:
    """Languages of their own whose exposure is shown to lie beyond the tolerance, tests corrected."""
    cutoffs = estimates.table.filter(metric="exposure ratio")["k"].unique().sort().to_list()
    rows = [row for k in cutoffs for row in estimates.by("language", "exposure ratio", k)]
    beyond = [row for row in rows if shows_bias(row.above_chance(), settings.tolerance)]
    return _listed(beyond, "language", len({row.quantity.keys["language"] for row in rows}))


def _groups(ratios: Sequence[Estimate], settings: PrevalenceSettings) -> str:
    """The groups that the verdict found beyond the tolerance."""
    key = _key(settings)
    beyond = [row for row in ratios if shows_bias(row.above_chance(), settings.tolerance)]
    return _listed(beyond, key, len({row.quantity.keys[key] for row in ratios}))


def _listed(beyond: Sequence[Estimate], key: str, n: int) -> str:
    if not beyond:
        return ""
    names = []
    for more, word in ((False, "less"), (True, "more")):
        best: dict[str, Estimate] = {}
        for row in beyond:
            if (row.value > 1) == more:
                name = row.quantity.keys[key]
                kept = best.get(name)
                best[name] = row if kept is None or abs(row.value - 1) > abs(kept.value - 1) else kept
        if best:
            ordered = sorted(best.items(), key=lambda entry: (-abs(entry[1].value - 1), entry[0]))
            shown = ", ".join(
                f"{language_name(name) if key == 'language' else name} {row.value:.2f} of {_top(row)}"
                for name, row in ordered[:4]
            )
            names.append(f"{len(best)} get {word} ({shown}{', ...' if len(ordered) > 4 else ''})")
    counted = f"{n} languages" if key == "language" else f"{n} groups"
    return f"Of {counted}, each against its own expectation, tests corrected: {'; '.join(names)}."


def _divergence(estimates: Estimates, settings: PrevalenceSettings) -> str:
    """DLBKL as published, beside both floors."""
    if "grouping" not in estimates.keys:
        return ""
    cutoffs = sorted(estimates.table.filter(metric="DLBKL", grouping=settings.by)["k"].unique())
    deep = [k for k in cutoffs if k > 1]
    if not deep:
        return ""
    k = 10 if 10 in deep else deep[-1]
    row = estimates.one("DLBKL", k, grouping=settings.by)
    [floored] = estimates.by("floor", "DLBKL", k, grouping=settings.by)
    return (
        f"DLBKL@{k} by {settings.by} {row:.2f}; the {floored.quantity.keys['floor']} floor is "
        f"{floored.chance:.2f}, that of a retriever blind to everything {row.chance:.2f}."
    )


def _worst(estimates: Estimates) -> str:
    recall = estimates.by("language", "R", 1).table
    if not len(recall):
        return ""
    table = named(recall).sort("value", "language")
    least = ", ".join(f"{row['name']} {row['value']:.0%}" for row in table.head(4).iter_rows(named=True))
    top = table.tail(1).row(0, named=True)
    return f"Lowest R@1 within the language: {least}; highest: {top['name']} {top['value']:.0%}."


def _single(estimates: Estimates) -> str:
    rows = [row for row in estimates if row.quantity.metric == "single-group share" and row.quantity.k != 1]
    if not rows:
        return ""
    row = next((row for row in rows if row.quantity.k == 10), rows[-1])
    return (
        f"{row.value:.0%} of images return one side only, low-tier languages or the others, "
        f"in their top {row.quantity.k}; by chance {row.chance:.1%} would."
    )


def _unknown(estimates: Estimates) -> str:
    known = estimates.maybe("captions of known images")
    if known is None or known.value == 1:
        return ""
    count = round((1 - known.value) * known.n)
    return f"{count:,} of {known.n:,} captions in the pool are of no image that is known" + (
        "." if _pool_wide(estimates) else "; they keep their language in the permutations."
    )


def _pool_wide(estimates: Estimates) -> bool:
    return "floor" in estimates.keys and bool(estimates.table["floor"].eq("pool-wide").any())


def _limits(estimates: Estimates, settings: PrevalenceSettings) -> tuple[str, ...]:
    tiers = (TIER_LIMIT,) if settings.by == "tier" else ()
    return LIMITS + tiers + ((POOL_LIMIT,) if _pool_wide(estimates) else ())


def _read_together(estimates: Estimates, finding: Finding, ratios: Sequence[Estimate]) -> tuple[Reading, ...]:
    """Exposure beside accuracy: an even top can hide a language that fails.

    Exposure sees only whose captions are shown. An aligned model in P's table has nearly no bias of it and
    yet finds captions of some languages far less often than those of others.
    """
    rows = sorted(
        estimates.by("language", "R", 1), key=lambda row: (row.value, row.quantity.keys["language"])
    )
    if finding == "unclear" or not rows:
        return ()
    worst, best = rows[0], rows[-1]
    # The lowest and highest of many are picked, so their intervals are drawn out as for that many at once.
    wider = 1.7
    apart = worst.value + wider * (worst.high - worst.value) < best.value - wider * (best.value - best.low)
    served = ", ".join(
        f"{language_name(row.quantity.keys['language'])} {row.value:.1%}" for row in (worst, best)
    )
    ratio = max(ratios, key=lambda row: abs(row.value - 1))
    sentence = (
        f"Exposure is {ratio.value:.2f} of its expectation in {_top(ratio)}, where it is farthest; "
        f"R@1 within a language: {served}. {MORALS[finding, apart]}"
    )
    return (Reading(title="Exposure and accuracy, read together", sentence=sentence),)
