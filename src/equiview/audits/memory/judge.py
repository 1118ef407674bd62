"""The answer in words: in which languages a model describes places better."""

from __future__ import annotations

from collections.abc import Sequence

from equiview.audits.judging import decide, largest, shows_bias
from equiview.audits.memory.consistency import CONSISTENCY
from equiview.audits.memory.measure import LOCAL, MARGIN, MATCHED, SCORE, SHIFT, TESTED
from equiview.audits.memory.reading import CATEGORIES
from equiview.audits.memory.replies import ADHERENCE, SHARE
from equiview.audits.memory.robustness import VARIANTS
from equiview.audits.memory.settings import AS_IT_IS, MemorySettings
from equiview.data.estimates import Estimate, Estimates
from equiview.data.languages import language_name
from equiview.data.verdict import Finding, Verdict

LENGTH = (
    "Short descriptions score low, in any language: read a shift beside the length-matched one, and compare "
    "levels of different models with care."
)
SCORER = (
    "A score is the scorer's judgement, which has biases of its own: scorers know some places and some kinds "
    "of picture better than others. Try a second one, and audit it."
)
TRANSLATED = "What a translator loses or adds counts for the language that it translates from."
UNCHECKED = "The prompts that come with equiview were not checked by native speakers of their languages."
ADVICE = (
    "Where a language is weak, ask in a stronger one, translate the answer, and say that it was translated.",
    "Train on descriptions and captions in the weak languages, of the same places as in the strong ones.",
)
CERTAIN = 0.0001
"""p up to which descriptions count as of their own landmarks: no random one should get so far."""
MOST = 0.5
"""Share of a language's landmarks that may lack a score, and of its replies that may be in another one."""
LOW = 0.95
"""Language adherence below which a language is named."""
NAMED = 3
"""Languages that the answer names on either side."""


def judge(estimates: Estimates, settings: MemorySettings) -> Verdict:
    """Biased where a language's scores are shifted, or local ones better, by more than the tolerance.

    Fair where all these lie within it. The tolerance is a share of the margin, which is what a description
    scores with its own landmark beyond what it scores with others. Unclear without a margin, with too few
    landmarks, and where most descriptions in a language are missing or in another language.
    """
    missing = _missing(estimates, settings)
    effects = () if missing else _effects(estimates)
    finding = decide(*effects, tolerance=settings.tolerance, missing=missing)
    answer = (
        f"Not decided: {missing}." if missing else _answer(finding, effects, estimates, settings.tolerance)
    )
    evidence = (
        _levels(estimates),
        _consistent(estimates),
        _matched(estimates, [effect for effect in effects if shows_bias(effect, settings.tolerance)]),
        _adhering(estimates),
        _categories(estimates),
        *(_robust(estimates, variant) for variant in VARIANTS),
        _failed(estimates),
        _cut(estimates),
        _not_judged(estimates),
    )
    return Verdict(
        finding=finding,
        answer=answer,
        evidence=tuple(filter(None, evidence)),
        advice=ADVICE if finding == "biased" else (),
        limits=_limits(settings),
        effect=largest(effects, settings.tolerance) if effects else None,
    )


def _missing(estimates: Estimates, settings: MemorySettings) -> str:
    """What is missing for a judgement, or nothing."""
    margin = estimates.maybe(MARGIN)
    if margin is None:
        return "no description has a score with pictures of its own landmark and of others"
    if margin.n < settings.least:
        return f"only {margin.n} landmarks have a score, at least {settings.least} are needed"
    if absent := [row for row in estimates.by("language", "missing") if row.value > MOST]:
        return f"most landmarks have no description that can be scored in {_listed(absent)}"
    if astray := [row for row in estimates.by("language", ADHERENCE) if row.value < MOST]:
        return f"most replies are in another language than asked for in {_listed(astray)}"
    if useless := _useless(margin):
        return useless
    few = f"no language describes {settings.least} landmarks that others describe too"
    return "" if _effects(estimates) else few


def _useless(margin: Estimate) -> str:
    """That descriptions are not shown to be of their own landmarks, or nothing."""
    if not margin.low > 0:
        return f"descriptions fit their own landmarks no better than others, the margin is {margin:.3f}"
    if margin.p is not None and margin.p > CERTAIN:
        return f"descriptions hardly fit their own landmarks better than others, the margin is {margin:.3f}"
    return ""


def _effects(estimates: Estimates) -> tuple[Estimate, ...]:
    """The shifts of the languages and the local advantage, over the margin, as far as they are judged."""
    local = estimates.maybe(TESTED[LOCAL])
    shifts = list(estimates.by("language", TESTED[SHIFT]))
    return tuple(row for row in [*shifts, *([local] if local else [])] if row.judged)


def _answer(finding: Finding, effects: Sequence[Estimate], estimates: Estimates, tolerance: float) -> str:
    margin = (
        f"what a description scores with its own landmark over others ({estimates.one(MARGIN).value:.3f})"
    )
    if finding == "biased":
        shown = [effect for effect in effects if shows_bias(effect, tolerance)]
        shifts = sorted((row for row in shown if _language(row)), key=lambda row: -abs(row.value))
        claims = [*_shifted(shifts), *(_local(row) for row in shown if not _language(row))]
        return f"Yes: {'; '.join(claims)}, in percent of {margin}."
    most = max(effects, key=lambda effect: abs(effect.value))
    side = "less" if most.value < 0 else "more"
    about = (
        f"descriptions in {_name(most)} score {side}" if _language(most) else "local languages score " + side
    )
    begin = "No" if finding == "fair" else f"Not decided at {tolerance:.0%}"
    by = f"by {abs(most.value):.0%} of {margin}"
    return f"{begin}: what differs most is that {about} than others of the same landmarks, {by}."


def _shifted(shifts: Sequence[Estimate]) -> list[str]:
    sides = {
        "worse": [row for row in shifts if row.value < 0],
        "better": [row for row in shifts if row.value > 0],
    }
    return [
        f"landmarks are described {side} in {_named(rows)} than in the other languages"
        for side, rows in sides.items()
        if rows
    ]


def _local(row: Estimate) -> str:
    side = "better" if row.value > 0 else "worse"
    by = f"{abs(row.value):.0%}"
    return f"landmarks are described {side} in the language of their region than in foreign ones (by {by})"


def _named(rows: Sequence[Estimate]) -> str:
    names = [f"{_name(row)} (by {abs(row.value):.0%})" for row in rows[:NAMED]]
    if len(rows) > NAMED:
        names.append(f"{len(rows) - NAMED} more")
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _language(row: Estimate) -> str:
    return row.quantity.keys.get("language", "")


def _name(row: Estimate) -> str:
    return language_name(_language(row))


def _listed(rows: Sequence[Estimate]) -> str:
    return ", ".join(f"{_name(row)} ({row.value:.0%})" for row in rows)


def _levels(estimates: Estimates) -> str:
    words = {"EN": "in English", "LOC": "in the language of the region", "GLO": "in neither"}
    rows = {setting: estimates.maybe(SCORE, setting=setting) for setting in words}
    said = [
        f"{row.value:.3f} {words[setting]} ({setting})" for setting, row in rows.items() if row is not None
    ]
    floors = [row.chance for row in rows.values() if row is not None and row.chance is not None]
    beside = f"; with other landmarks' pictures {sum(floors) / len(floors):.3f}" if floors else ""
    return f"Mean score {', '.join(said)}{beside}." if said else ""


def _consistent(estimates: Estimates) -> str:
    row = estimates.maybe(CONSISTENCY)
    if row is None:
        return ""
    undefined = estimates.maybe("undefined cells")
    lacking = f" {undefined.value:.0%} of its cells are undefined." if undefined and undefined.value else ""
    return (
        f"Consistency across languages {row:.1%}; with landmarks shuffled between languages, which share no "
        f"memory then, {row.chance:.1%}.{lacking}"
    )


def _matched(estimates: Estimates, shown: Sequence[Estimate]) -> str:
    """What is left of the shifts that the answer names when texts about as long are compared."""
    parts = []
    for effect in filter(_language, shown):
        whole = estimates.one(SHIFT, language=_language(effect))
        alike = estimates.maybe(MATCHED, language=_language(effect))
        left = f"{alike.value:+.3f}" if alike else "not available"
        parts.append(f"{_name(effect)} {left} (of all {whole.value:+.3f})")
    return f"Shift among descriptions about as long, as a score: {', '.join(parts[:NAMED])}." if parts else ""


def _adhering(estimates: Estimates) -> str:
    row = estimates.maybe(ADHERENCE)
    scored = {_language(entry) for entry in estimates.by("language", SHARE, category=CATEGORIES[0])}
    told = {_language(entry): entry for entry in estimates.by("language", ADHERENCE)}
    unknown = ", ".join(language_name(code) for code in sorted(scored - set(told)))
    beyond = f" Not known to the detector, or without a reply: {unknown}." if unknown else ""
    if row is None:
        return beyond.strip()
    low = [entry for entry in told.values() if entry.value < LOW]
    named = f"; lowest: {_listed(sorted(low, key=lambda entry: entry.value)[:NAMED])}" if low else ""
    return f"{row.value:.1%} of replies are in the language asked for{named}.{beyond}"


def _categories(estimates: Estimates) -> str:
    rows = {name: estimates.maybe(SHARE, category=name) for name in CATEGORIES[1:]}
    said = [f"{row.value:.1%} {name}" for name, row in rows.items() if row is not None and row.value]
    return f"Of all replies: {', '.join(said)}." if said else ""


def _robust(estimates: Estimates, variant: str) -> str:
    changes = [
        f"{setting} by {row.value:+.3f}"
        for setting in ("EN", "LOC", "GLO")
        if (row := estimates.maybe("score change", setting=setting, variant=variant)) is not None
    ]
    row = estimates.maybe("consistency change", variant=variant)
    if row is not None:
        changes.append(f"consistency by {100 * row.value:+.1f} points")
    return f"The {variant} changes {', '.join(changes)}." if changes else ""


def _failed(estimates: Estimates) -> str:
    rows = [row for row in estimates.by("translator", "failed translations") if row.value]
    said = [f"{row.value:.1%} of those of the {row.quantity.keys['translator']} translator" for row in rows]
    return f"Translations that could not be read: {', '.join(said)}." if said else ""


def _cut(estimates: Estimates) -> str:
    row = estimates.maybe("texts cut by the scorer")
    return (
        f"The scorer reads only the beginning of {row.value:.0%} of the texts." if row and row.value else ""
    )


def _not_judged(estimates: Estimates) -> str:
    few = [_name(shift) for shift in estimates.by("language", SHIFT) if not shift.judged]
    return f"Not judged, having too few landmarks: {', '.join(few)}." if few else ""


def _limits(settings: MemorySettings) -> tuple[str, ...]:
    linked = f" Its own run is in {settings.scorer_run}." if settings.scorer_run else ""
    translated = () if settings.translator == AS_IT_IS else (TRANSLATED,)
    return (LENGTH, SCORER + linked, *translated, *(() if settings.prompts else (UNCHECKED,)))
