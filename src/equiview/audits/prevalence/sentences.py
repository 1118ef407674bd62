"""Prevalence bias put into words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from equiview.audits.judging import ALPHA, excludes_bias
from equiview.audits.prevalence.exposure import ALIKE, FARTHEST, FOLLOWS
from equiview.audits.prevalence.settings import PrevalenceSettings
from equiview.audits.saying import by_side, filled, levels, listed, not_decided, of_many
from equiview.data.estimates import Estimate, Estimates
from equiview.data.languages import language_name
from equiview.data.verdict import Finding, Reading

LIMITS = ("Even exposure is not correctness: read it beside accuracy and recall.",)
TIER_LIMIT = (
    "Tiers follow the web's shares of languages (CommonCrawl CC-MAIN-2025-18), not numbers of speakers."
)
MATCHED_LIMIT = (
    "Captions of one image are taken to be equally right in all languages; worse translations count as bias. "
    "Captions that have no such equal take no part."
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


def limits(settings: PrevalenceSettings) -> tuple[str, ...]:
    """What the verdict does not say."""
    return (*LIMITS, *((TIER_LIMIT,) if settings.by == "tier" else ()), MATCHED_LIMIT)


def one_group(settings: PrevalenceSettings) -> str:
    """That there is nobody to crowd out."""
    kinds = {"tier": "tier of languages", "language": "language"}
    kind = kinds.get(settings.by, f"value of {settings.by!r}")
    return f"the pool holds one {kind} only, so none can crowd out another"


def few_exchangeable(settings: PrevalenceSettings, share: float) -> str:
    """Too little of what is shown could be replaced by equally right captions of other groups."""
    return (
        f"only {share:.0%} of the exposure is of captions with an equal of another {settings.by} beside them, "
        "a caption of the same image, so there is too little to compare with"
    )


def biased(
    estimates: Estimates,
    settings: PrevalenceSettings,
    row: Estimate,
    among: int,
    languages: Sequence[Estimate],
) -> str:
    """The group and cutoff that lie farthest from their expectation, and the languages that get least there."""
    get, would = _exposure(estimates, row, settings)
    least = sorted((other for other in languages if other.quantity.k == row.quantity.k and other.value < 0),
                   key=lambda other: other.value)  # fmt: skip
    names = [f"{_group(other)} {_ratio(other)}" for other in least if other.keys != row.keys]
    more = f", and {len(names) - MOST} more" if len(names) > MOST else ""
    those = filled("; least {}", names[:MOST])
    many = of_many(among, "farthest")
    return f"Yes: {_name(estimates, row, settings)} {get}, where {would} (ratio {_interval(row)}{many}){those}{more if those else ''}."


def otherwise(
    finding: Finding, settings: PrevalenceSettings, rows: Sequence[Estimate], small: Sequence[str]
) -> str:
    """That all groups, or the least written languages, get their share; or what is not known."""
    would = f"what a retriever {_blind_to(settings)} would give"
    row = max(rows, key=lambda row: abs(row.value))
    what = f"exposure of {_plainly(row, settings)} in {_top(row)} is {_interval(row)} of {would}"
    within = f"within {settings.tolerance:.0%} less or as many times more"
    if finding == "unclear":
        undecided = f"{what}{of_many(len(rows), 'farthest')}, neither shown to be beyond a tolerance of {settings.tolerance:.0%} nor to be within it"
        few = (
            f"too little is shown of {listed([*map(_word, small[:MOST]), *([f'{len(small) - MOST} more'] if len(small) > MOST else [])])} to tell half from double"
            if small
            else ""
        )
        return not_decided(few if small and all(_within(row, settings) for row in rows) else undecided)
    ranks = f"cutoffs {listed(map(str, sorted({row.quantity.k or 1 for row in rows})))}"
    if settings.by != "tier":
        return f"No: every {settings.by}'s captions get exposure {within} of {would}, at {ranks}."
    values = ", ".join(_ratio(row) for row in rows)
    return f"No: {_plainly(rows[0], settings)} get exposure {within} than {would} them, at {ranks} (ratio {values})."


def evidence(
    estimates: Estimates,
    settings: PrevalenceSettings,
    rows: Sequence[Estimate],
    tested: Sequence[Estimate],
    beyond: Sequence[Estimate],
) -> Iterator[str]:
    """What the answer rests on; `beyond` are those of `tested` that lie beyond the tolerance."""
    if settings.by == "tier":
        for row in rows:
            get, would = _exposure(estimates, row, settings)
            tier = row.keys["tier"].capitalize()
            yield f"{tier}-tier languages {get}; {would}: ratio {_interval(row)}, {_p(row)}."
    if tested:
        yield _groups(beyond, len({tuple(row.keys.values()) for row in tested}))
    yield from (
        _follows(row)
        for row in estimates
        if row.quantity.metric == FOLLOWS and row.quantity.k == _deep(estimates)
    )
    alike = [row for row in estimates if row.quantity.metric == ALIKE]
    if alike and min(row.value for row in alike) < 0.995:
        parts = ", ".join(
            f"{row.value:.0%} of {_top(row)}"
            for row in alike
            if row.quantity.k in {other.quantity.k for other in tested}
        )
        yield f"Captions with an equal of another {settings.by} hold {parts} of the exposure; only these are compared."
    yield _divergence(estimates, settings)
    if recalled := recalls(estimates):
        yield f"Lowest R@1 within the language: {levels(recalled[:MOST])}; highest: {levels(recalled[-1:])}."
    single = [row for row in estimates if row.quantity.metric == "single-group share" and row.quantity.k != 1]
    if single:
        row = next((row for row in single if row.quantity.k == 10), single[-1])
        yield (
            f"{row.value:.0%} of images return one side only, low-tier languages or the others, "
            f"in their top {row.quantity.k}; by chance {row.chance:.1%} would."
        )
    known = estimates.maybe("captions of known images")
    if known and known.value != 1:
        count = round((1 - known.value) * known.n)
        yield f"{count:,} of {known.n:,} captions in the pool are of no image that is known; they take no part."


def read_together(
    finding: Finding, ratios: Sequence[Estimate], rows: Sequence[Estimate], *, apart: bool
) -> Reading:
    """Exposure beside accuracy: even exposure can hide a language that fails.

    Exposure measures only whose captions are shown. An aligned model in P's table has nearly no bias of
    exposure, and yet finds captions of some languages far less often than those of others. `rows` are R@1 of
    languages, the lowest first.
    """
    ratio = max(ratios, key=lambda row: abs(row.value))
    sentence = (
        f"Exposure is {_ratio(ratio)} of its expectation in {_top(ratio)}, where it is farthest; R@1 "
        f"within a language: {levels((rows[0], rows[-1]), '.1%')}. {MORALS[finding, apart]}"
    )
    return Reading(title="Exposure and accuracy, read together", sentence=sentence)


def _plainly(row: Estimate, settings: PrevalenceSettings) -> str:
    """The captions that a row is about."""
    [(key, value)] = row.keys.items()
    if key == "tier":
        return f"captions in {value}-tier languages"
    return (
        f"captions in {language_name(value)}"
        if key == "language"
        else f"captions with {settings.by} {value!r}"
    )


def _name(estimates: Estimates, row: Estimate, settings: PrevalenceSettings) -> str:
    """The same; a tier that one language makes up is called by its name."""
    if "tier" in row.keys:
        shares = [
            estimates.by("language", metric, row.quantity.k) for metric in ("exposure", "expected exposure")
        ]
        own = [
            estimates.one(metric, row.quantity.k, **row.keys).value
            for metric in ("exposure", "expected exposure")
        ]
        for held, blind in zip(*shares, strict=True):
            if (held.value, blind.value) == (own[0], own[1]) and blind.value > 0:
                return f"captions in {language_name(held.keys['language'])}, the only language of the {row.keys['tier']} tier,"
    return _plainly(row, settings)


def _word(value: str) -> str:
    return language_name(value)


def _group(row: Estimate) -> str:
    """The language or group of a row."""
    [(key, value)] = row.keys.items()
    return language_name(value) if key == "language" else value


def _ratio(row: Estimate) -> str:
    """The ratio of a row that holds its logarithm."""
    return f"{0.0 if row.value <= -math.log(FARTHEST) else math.exp(row.value):.2f}"


def _interval(row: Estimate) -> str:
    """The ratio with the interval that holds for all at once."""
    ends = row.of_many()
    low, high = (math.exp(end) for end in (ends.low, ends.high))
    return f"{_ratio(row)} [{0.0 if low < 1.001 / FARTHEST else low:.2f}, {'no end' if high > FARTHEST / 1.001 else f'{high:.2f}'}]"


def _within(row: Estimate, settings: PrevalenceSettings) -> bool:
    return excludes_bias(row, settings.log_tolerance)


def _deep(estimates: Estimates) -> int | None:
    """Cutoff 10 where it was judged, else the last one."""
    cutoffs = [row.quantity.k for row in estimates if row.quantity.metric == FOLLOWS]
    return 10 if 10 in cutoffs else cutoffs[-1] if cutoffs else None


def _follows(row: Estimate) -> str:
    """Whether exposure follows how much of the web a language has."""
    number = f"Spearman {row.value:+.2f} over {row.n} languages, {_p(row)}"
    if row.p is not None and row.p <= ALPHA and row.value > 0:
        return f"Much-written languages get more of {_top(row)} than they would ({number})."
    if row.p is not None and row.p <= ALPHA:
        return f"Much-written languages get less of {_top(row)} than they would ({number})."
    return f"Exposure in {_top(row)} is not shown to follow how much of the web a language has ({number})."


def _top(row: Estimate) -> str:
    return f"the top {row.quantity.k}" if (row.quantity.k or 1) > 1 else "rank 1"


def _blind_to(settings: PrevalenceSettings) -> str:
    return f"blind to {'language' if settings.by == 'tier' else settings.by}"


def _exposure(estimates: Estimates, row: Estimate, settings: PrevalenceSettings) -> tuple[str, str]:
    """The exposure behind a ratio, and what a blind retriever would give."""
    exposed = estimates.one("exposure", row.quantity.k, **row.keys)
    would = f"a retriever {_blind_to(settings)} would give them {exposed.chance:.0%}"
    return f"get {exposed.value:.0%} of {_top(row)}", would


def _p(row: Estimate) -> str:
    if row.p is None:
        return "not tested"
    word, p = ("p", row.p) if row.p_holm is None else ("p by Holm", row.p_holm)
    return f"{word} {'< .001' if p < 0.001 else f'= {p:.3f}'.replace('0.', '.', 1)}"


def _groups(beyond: Sequence[Estimate], n: int) -> str:
    """Groups shown to lie beyond the tolerance, each once: where it is farthest from its expectation."""
    best: dict[str, Estimate] = {}
    for row in sorted(beyond, key=lambda row: (-abs(row.value), _group(row))):
        best.setdefault(_group(row), row)
    names = []
    for word, rows in by_side(list(best.values()), "less", "more"):
        parts = [f"{_group(row)} {_ratio(row)} of {_top(row)}" for row in rows[:MOST]]
        names.append(f"{len(rows)} get {word} ({', '.join(parts)}{', ...' if len(rows) > MOST else ''})")
    kind = "languages" if beyond and "language" in beyond[0].keys else "groups"
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
