"""Prevalence bias put into words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from equiview.audits.prevalence.settings import PrevalenceSettings
from equiview.audits.saying import filled, levels, listed, not_decided
from equiview.data.estimates import Estimate, Estimates
from equiview.data.languages import language_name
from equiview.data.verdict import Finding, Reading

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
MORALS = {
    ("biased", True): "Exposure is uneven, and languages are served unequally.",
    ("biased", False): "Exposure is uneven though each language is served alike: scores differ between them.",
    ("fair", True): "Exposure is even, and still some languages are served worse.",
    ("fair", False): "Even by both.",
}
"""What exposure and accuracy (apart or not) say together."""
MOST = 4
"""Languages or groups that a sentence names."""


def question(settings: PrevalenceSettings) -> str:
    """The audit's question for groups that the user chose."""
    return f"Do captions of some values of {settings.by!r} crowd out equally right ones of others?"


def advice(settings: PrevalenceSettings) -> tuple[str, ...]:
    """What to do about tiers or languages, or about groups of another kind."""
    if settings.key != "group":
        return ADVICE
    each = f"retrieve within each {settings.by} and merge lists by rank instead of score"
    return (f"Until its cause is found, {each}.",)


def recalls(estimates: Estimates) -> list[Estimate]:
    """R@1 within each language, the lowest first."""
    return sorted(estimates.by("language", "R", 1), key=lambda row: (row.value, row.keys["language"]))


def limits(estimates: Estimates, settings: PrevalenceSettings) -> tuple[str, ...]:
    """What the verdict does not say."""
    tiers = (TIER_LIMIT,) if settings.by == "tier" else ()
    return LIMITS + tiers + ((POOL_LIMIT,) if _pool_wide(estimates) else ())


def one_group(settings: PrevalenceSettings) -> str:
    """That there is nobody to crowd out."""
    kinds = {"tier": "tier of languages", "language": "language"}
    kind = kinds.get(settings.by, f"value of {settings.by!r}")
    return f"the pool holds one {kind} only, so none can crowd out another"


def few_exchangeable(settings: PrevalenceSettings, share: float) -> str:
    """Too few captions could be replaced by equally right ones of other groups."""
    return (
        f"only {share:.0%} of the captions have captions of their image beside them that are of another "
        f"{settings.by}, so there is too little to compare with"
    )


def biased(estimates: Estimates, settings: PrevalenceSettings, row: Estimate) -> str:
    """The group and cutoff that lie farthest from their expectation."""
    get, would = _exposure(estimates, row, settings)
    return f"Yes: {_name(row, settings)} {get}, where {would} (ratio {row:.2f})."


def otherwise(finding: Finding, settings: PrevalenceSettings, ratios: Sequence[Estimate]) -> str:
    """That all groups, or the least written languages, get their share; or which ratio is least certain."""
    would = f"what {_blind(settings)} would give"
    if finding == "unclear":
        row = max(ratios, key=lambda ratio: ratio.high - ratio.low)
        neither = f"neither shown to be beyond {settings.tolerance:.0%} of it nor to be within"
        return not_decided(
            f"exposure of {_name(row, settings)} in {_top(row)} is {row:.2f} of {would}, {neither}"
        )
    tolerance = f"within {settings.tolerance:.0%} of {would}"
    ranks = f"cutoffs {listed(map(str, sorted({row.quantity.k or 1 for row in ratios})))}"
    if settings.by != "tier":
        return f"No: every {settings.by}'s captions get exposure {tolerance}, at {ranks}."
    values = ", ".join(f"{row.value:.2f}" for row in ratios)
    return f"No: {_name(ratios[0], settings)} get exposure {tolerance} them, at {ranks} (ratio {values})."


def evidence(
    estimates: Estimates,
    settings: PrevalenceSettings,
    ratios: Sequence[Estimate],
    tested: Sequence[Estimate],
    beyond: Sequence[Estimate],
) -> Iterator[str]:
    """What the answer rests on; `beyond` are those of `tested` that lie beyond the tolerance."""
    if settings.by == "tier":
        for row in ratios:
            get, would = _exposure(estimates, row, settings)
            tier = row.keys["tier"].capitalize()
            yield f"{tier}-tier languages {get}; {would}: ratio {row:.2f}, {_p(row)}."
    key = "language" if settings.by == "tier" else settings.key
    yield _groups(beyond, key, len({row.keys[key] for row in tested}))
    yield _divergence(estimates, settings)
    if rows := recalls(estimates):
        yield f"Lowest R@1 within the language: {levels(rows[:MOST])}; highest: {levels(rows[-1:])}."
    single = [row for row in estimates if row.quantity.metric == "single-group share" and row.quantity.k != 1]
    if single:
        row = next((row for row in single if row.quantity.k == 10), single[-1])
        yield (
            f"{row.value:.0%} of images return one side only, low-tier languages or the others, "
            f"in their top {row.quantity.k}; by chance {row.chance:.1%} would."
        )
    known = estimates.maybe("captions of known images")
    if known and known.value != 1:
        end = "" if _pool_wide(estimates) else "; they keep their language in the permutations"
        count = round((1 - known.value) * known.n)
        yield f"{count:,} of {known.n:,} captions in the pool are of no image that is known{end}."


def read_together(
    finding: Finding, ratios: Sequence[Estimate], rows: Sequence[Estimate], *, apart: bool
) -> Reading:
    """Exposure beside accuracy: even exposure can hide a language that fails.

    Exposure measures only whose captions are shown. An aligned model in P's table has nearly no bias of
    exposure, and yet finds captions of some languages far less often than those of others. `rows` are R@1 of
    languages, the lowest first.
    """
    ratio = max(ratios, key=lambda row: abs(row.value - 1))
    sentence = (
        f"Exposure is {ratio.value:.2f} of its expectation in {_top(ratio)}, where it is farthest; R@1 "
        f"within a language: {levels((rows[0], rows[-1]), '.1%')}. {MORALS[finding, apart]}"
    )
    return Reading(title="Exposure and accuracy, read together", sentence=sentence)


def _name(row: Estimate, settings: PrevalenceSettings) -> str:
    value = row.keys[settings.key]
    if settings.by == "tier":
        return f"captions in {value}-tier languages"
    if settings.by == "language":
        return f"captions in {language_name(value)}"
    return f"captions with {settings.by} {value!r}"


def _top(row: Estimate) -> str:
    return f"the top {row.quantity.k}" if (row.quantity.k or 1) > 1 else "rank 1"


def _blind(settings: PrevalenceSettings) -> str:
    return f"a retriever blind to {'language' if settings.by == 'tier' else settings.by}"


def _exposure(estimates: Estimates, row: Estimate, settings: PrevalenceSettings) -> tuple[str, str]:
    """The exposure behind a ratio, and what a blind retriever would give."""
    exposed = estimates.one("exposure", row.quantity.k, **row.keys)
    would = f"{_blind(settings)} would give them {exposed.chance:.0%}"
    return f"get {exposed.value:.0%} of {_top(row)}", would


def _p(row: Estimate) -> str:
    p = row.p_holm if row.p_holm is not None else row.p
    return "not tested" if p is None else f"p {'< .001' if p < 0.001 else f'= {p:.3f}'.replace('0.', '.', 1)}"


def _groups(beyond: Sequence[Estimate], key: str, n: int) -> str:
    """Groups shown to lie beyond the tolerance, each where it is farthest from its expectation."""
    names = []
    farthest = sorted(beyond, key=lambda row: (-abs(row.value - 1), row.keys[key]))
    for word, more in (("less", False), ("more", True)):
        best: dict[str, Estimate] = {}
        for row in farthest:
            if (row.value > 1) == more:
                best.setdefault(row.keys[key], row)
        if best:
            shown = ", ".join(
                f"{language_name(name) if key == 'language' else name} {row.value:.2f} of {_top(row)}"
                for name, row in list(best.items())[:MOST]
            )
            names.append(f"{len(best)} get {word} ({shown}{', ...' if len(best) > MOST else ''})")
    kind = "languages" if key == "language" else "groups"
    return filled(f"Of {n} {kind}, each against its own expectation, tests corrected: {{}}.", names, "; ")


def _divergence(estimates: Estimates, settings: PrevalenceSettings) -> str:
    """DLBKL as published, beside both floors."""
    if "grouping" not in estimates.keys:
        return ""
    cutoffs = estimates.table.filter(metric="DLBKL", grouping=settings.by)["k"]
    deep = sorted(set(cutoffs) - {1})
    if not deep:
        return ""
    k = 10 if 10 in deep else deep[-1]
    row = estimates.one("DLBKL", k, grouping=settings.by)
    [floored] = estimates.by("floor", "DLBKL", k, grouping=settings.by)
    return (
        f"DLBKL@{k} by {settings.by} {row:.2f}; the {floored.keys['floor']} floor is {floored.chance:.2f}, "
        f"that of a retriever blind to everything {row.chance:.2f}."
    )


def _pool_wide(estimates: Estimates) -> bool:
    return "floor" in estimates.keys and bool(estimates.table["floor"].eq("pool-wide").any())
