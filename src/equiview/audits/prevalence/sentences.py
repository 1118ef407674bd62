"""Prevalence bias put into words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from equiview.audits.judging import ALPHA, excludes_bias, shows_bias
from equiview.audits.prevalence.exposure import ALIKE, FARTHEST, FOLLOWS
from equiview.audits.prevalence.searched import EFFECT, EFFECT_ON_RATIO
from equiview.audits.prevalence.settings import PrevalenceSettings
from equiview.audits.saying import (
    beside_chance,
    by_side,
    filled,
    language_of,
    levels,
    listed,
    not_decided,
    of_many,
    with_interval,
)
from equiview.audits.searching import RECALL
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
    "`equiview advise RUN` names what to try, the best first, with what each was worth elsewhere.",
    "With its vectors: `equiview mitigate level SUBJECT --benchmark BENCHMARK --out DIR` gives each language "
    "its share of the first ranks, and keeps images to judge it by.",
    "With its lists alone: `equiview mitigate exposure SUBJECT --benchmark BENCHMARK --out DIR` shows each "
    "language for its share, at the least loss of score. `equiview study mitigation` shows what it cost.",
)
SEARCH_LIMIT = (
    "The pool was searched approximately: a language whose captions the index does not reach looks like one "
    "that the encoder does not show. Intervals allow for what a sample says that it changed."
)
MORALS = {
    ("biased", True): "Exposure is uneven, and languages are served unequally.",
    ("biased", False): "Exposure is uneven though each language is served alike: scores differ between them.",
    ("fair", True): "Exposure is even, and still some languages are served worse.",
    ("fair", False): "Even by both.",
}
"""What exposure and accuracy (apart or not) say together."""
ALL = 0.995
"""Share from which on nothing is said of the rest."""
MOST = 4
"""Languages or groups that a sentence names."""


def question(settings: PrevalenceSettings) -> str:
    """The audit's question for groups that the user chose."""
    return f"Do captions of some values of {settings.by!r} crowd out equally right ones of others?"


def advice(settings: PrevalenceSettings) -> tuple[str, ...]:
    """What to do about tiers or languages, or about groups of another kind."""
    if settings.key != "group":
        return ADVICE
    command = f"equiview mitigate exposure SUBJECT --benchmark BENCHMARK --by {settings.by} --out DIR"
    return (f"Until its cause is found: `{command}` shows each value for its share, at the least loss.",)


def recalls(estimates: Estimates) -> list[Estimate]:
    """R@1 within each language, the lowest first."""
    return sorted(estimates.by("language", "R", 1), key=lambda row: (row.value, row.keys["language"]))


def limits(settings: PrevalenceSettings) -> tuple[str, ...]:
    """What the verdict does not say."""
    tiers = (TIER_LIMIT,) if settings.by == "tier" else ()
    return (*LIMITS, *tiers, MATCHED_LIMIT, *((SEARCH_LIMIT,) if settings.index else ()))


def one_group(settings: PrevalenceSettings) -> str:
    """That there is nobody to crowd out."""
    kinds = {"tier": "tier of languages", "language": "language"}
    kind = kinds.get(settings.by, f"value of {settings.by!r}")
    return f"the pool holds one {kind} only, so none can crowd out another"


def few_exchangeable(settings: PrevalenceSettings, share: float) -> str:
    """Too little of what is shown could be replaced by equally right captions of other groups."""
    return (
        f"only {share:.0%} of the exposure is of captions with an equal of another {settings.by}, "
        "a caption of the same image, so there is too little to compare with"
    )


def rarely_right(accuracy: Estimate, settings: PrevalenceSettings) -> str:
    """That a right caption is found for too few images."""
    return (
        f"exposure is even, but a right caption is found for so few images ({beside_chance(accuracy)}) that "
        f"it says nothing of whose are: {settings.tolerance:.0%} more than by chance are needed"
    )


def biased(
    estimates: Estimates, settings: PrevalenceSettings, row: Estimate, among: int, beyond: Sequence[Estimate]
) -> str:
    """The group and cutoff that lie farthest from their expectation, and who else does there, worst first."""
    get, would = _exposure(estimates, row, settings)
    others = sorted((one for one in beyond if one.quantity.k == row.quantity.k), key=lambda one: one.value)
    parts = []
    for word, rows in by_side([one for one in others if one.keys != row.keys], "less", "more"):
        names = [f"{_group(one)} {_ratio(one)}" for one in (rows if word == "less" else rows[::-1])]
        more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
        parts.append(f"{word}: {', '.join(names[:MOST])}{more}")
    farthest = f"ratio {_interval(row)}{of_many(among, 'farthest')}"
    those = filled("; {}", parts, "; ")
    return f"Yes: {_name(estimates, row, settings)} {get}, where {would} ({farthest}){those}."


def otherwise(
    finding: Finding, settings: PrevalenceSettings, rows: Sequence[Estimate], unknown: Sequence[str]
) -> str:
    """That all groups, or the least written languages, get their share; or what is not known.

    `unknown` are the languages or groups that are not known to lie within the tolerance.
    """
    would = f"what a retriever blind to {_kind(settings)} would give"
    within = f"a tolerance of {settings.tolerance:.0%}"
    if finding == "unclear" and unknown and all(excludes_bias(row, settings.log_tolerance) for row in rows):
        more = [f"{len(unknown) - MOST} more"] if len(unknown) > MOST else []
        few = listed([*map(language_name, unknown[:MOST]), *more])
        return not_decided(f"too few captions are shown to tell whether exposure of {few} is within {within}")
    if finding == "unclear":
        undecided = [row for row in rows if not excludes_bias(row, settings.log_tolerance)]
        row = max(undecided, key=lambda row: abs(row.value))
        what = f"exposure of {_plainly(row, settings)} in {_top(row)} is {_interval(row)} of {would}"
        neither = f"neither shown to be beyond {within} nor to be within it"
        return not_decided(f"{what}{of_many(len(rows), 'farthest')}, {neither}")
    ranks = f"cutoffs {listed(map(str, sorted({row.quantity.k or 1 for row in rows})))}"
    if settings.by != "tier":
        return f"No: every {settings.by}'s captions get exposure within {within} of {would}, at {ranks}."
    values = ", ".join(_ratio(row) for row in rows)
    name = _plainly(rows[0], settings)
    return f"No: {name} get exposure within {within} of {would} them, at {ranks} (ratio {values})."


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
    followed = {row.quantity.k: row for row in estimates if row.quantity.metric == FOLLOWS}
    if followed:
        yield _follows(followed[10 if 10 in followed else max(followed, key=lambda k: k or 1)])
    cutoffs = {row.quantity.k for row in rows}
    alike = [row for row in estimates if row.quantity.metric == ALIKE and row.quantity.k in cutoffs]
    if alike and min(row.value for row in alike) < ALL:
        parts = listed(f"{row.value:.0%} of {_top(row)}" for row in alike)
        yield f"Captions with an equal of another {settings.by} hold {parts}; only these are compared."
    yield _divergence(estimates, settings)
    yield from searched(estimates, settings)
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
        yield f"{count:,} of {known.n:,} captions in the pool are of no known image; they take no part."


def searched(estimates: Estimates, settings: PrevalenceSettings) -> Iterator[str]:
    """What the search in use missed of an exact one, in which language most, and what that changed."""
    cutoffs = sorted(set(estimates.table.filter(metric=RECALL.name)["k"]))
    if not cutoffs:
        return
    overall = [estimates.one(RECALL.name, k) for k in (min(cutoffs, key=lambda k: abs(k - 10)), cutoffs[-1])]
    n = f"{overall[0].n:,} images that were searched exactly as well"
    found = listed(f"{row:.1%} of {_top(row)}" for row in dict.fromkeys(overall))
    by = f"Searched by {settings.index.about}" if settings.index else "Its search"
    yield f"{by}: of an exact search's results it finds {found}, over {n}."
    rows = sorted(estimates.by("language", RECALL.name, overall[-1].quantity.k), key=lambda row: row.value)
    if len(rows) > 1:
        low, high = rows[0].of_many(), rows[-1].of_many()
        yield (
            f"It finds least in {language_of(low)}, {low:.1%}{of_many(len(rows), 'lowest')}, and most in "
            f"{language_of(high)}, {high:.1%}."
        )
    k, effects = overall[0].quantity.k, []
    if (row := estimates.maybe(EFFECT.format("Accuracy"), k)) is not None:
        effects.append(f"Accuracy@{k} by {with_interval(row)}")
    for row in estimates.by("grouping", EFFECT.format("DLBKL"), k):
        effects.append(f"DLBKL@{k} by {row.keys['grouping']} by {row:.3f}")
    yield filled("It changes {}.", effects)
    if ratios := _effects(estimates):
        sure = [row for row in ratios if shows_bias(row, 0.0)]
        most = max(sure or ratios, key=lambda row: abs(row.value))
        among = of_many(len(ratios), "farthest that is shown" if sure else "farthest, none being shown")
        yield f"It multiplies exposure of {_group(most)} in {_top(most)} by {_interval(most)}{among}."


def search_decides(estimates: Estimates, settings: PrevalenceSettings, finding: Finding) -> str:
    """That lists as they were found show something, and exact ones may not."""
    again = "search exactly, or wider, or more images exactly as well (search_sample)"
    if not (effects := _effects(estimates)):
        return not_decided(f"what the approximate search changed is not known; {again}")
    sure = [row for row in effects if shows_bias(row, 0.0)]
    most = max(sure or effects, key=lambda row: max(abs(row.low), abs(row.high)))
    shown = "uneven" if finding == "biased" else "even"
    return not_decided(
        f"lists show {shown} exposure, but the approximate search multiplies that of "
        f"{_plainly(most, settings)} in {_top(most)} by {_interval(most)}"
        f"{of_many(len(effects), 'farthest')}, so that exact lists may not; {again}"
    )


def _effects(estimates: Estimates) -> list[Estimate]:
    """What the search did to each exposure ratio, as far as it is known."""
    return [row for row in estimates if row.quantity.metric == EFFECT_ON_RATIO and row.has_interval]


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
    name, k = _plainly(row, settings), row.quantity.k
    if "tier" not in row.keys:
        return name
    shares = ("exposure", "expected exposure")
    own = tuple(estimates.one(metric, k, **row.keys).value for metric in shares)
    each = zip(*(estimates.by("language", metric, k) for metric in shares), strict=True)
    alone = [held for held, blind in each if (held.value, blind.value) == own and blind.value > 0]
    if len(alone) != 1:  # none, or several with the same numbers, of which any may be the one
        return name
    return f"captions in {language_of(alone[0])}, alone in the {row.keys['tier']} tier,"


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
    least, most = math.log(1.001 / FARTHEST), math.log(FARTHEST / 1.001)
    low = "0.00" if ends.low < least else f"{math.exp(ends.low):.2f}"
    return f"{_ratio(row)} [{low}, {'no end' if ends.high > most else f'{math.exp(ends.high):.2f}'}]"


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


def _kind(settings: PrevalenceSettings) -> str:
    """What a fair retriever does not see."""
    return "language" if settings.by == "tier" else settings.by


def _exposure(estimates: Estimates, row: Estimate, settings: PrevalenceSettings) -> tuple[str, str]:
    """The exposure behind a ratio, and what a blind retriever would give."""
    exposed = estimates.one("exposure", row.quantity.k, **row.keys)
    would = f"a retriever blind to {_kind(settings)} would give them {exposed.chance:.0%}"
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
        some = ", ".join([*parts, *(["..."] if len(rows) > MOST else [])])
        names.append(f"{len(rows)} {'gets' if len(rows) == 1 else 'get'} {word} ({some})")
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
