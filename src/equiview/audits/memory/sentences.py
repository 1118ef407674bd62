"""Memory of places put into words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from equiview.audits.memory.consistency import CONSISTENCY
from equiview.audits.memory.measure import LOCAL, MARGIN, MATCHED, SCORE, SHIFT
from equiview.audits.memory.reading import CATEGORIES
from equiview.audits.memory.replies import ADHERENCE, SHARE, unanswered
from equiview.audits.memory.robustness import VARIANTS
from equiview.audits.memory.settings import AS_IT_IS, MemorySettings
from equiview.audits.saying import (
    NAMED,
    by_share,
    by_side,
    filled,
    in_brackets,
    language_of,
    named,
    of_many,
    too_few_of,
)
from equiview.data.estimates import Estimate, Estimates
from equiview.data.languages import language_name

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
LOW = 0.95
"""Language adherence below which a language is named."""
ASKED = {"EN": "in English", "LOC": "in the language of the region", "GLO": "in neither"}


def unfitting(better: str, margin: Estimate) -> str:
    """That descriptions are not shown to be of their own landmarks."""
    own = "their own landmarks"
    fit = f"fit {own} no better than" if better == "no" else f"hardly fit {own} better than"
    return f"descriptions {fit} others, the margin is {margin:.3f}"


def unjudged(estimates: Estimates, settings: MemorySettings) -> str:
    """The languages in which too few landmarks are described, or replies missing; "" where there is none."""
    asked = [row.keys["language"] for row in estimates.by("language", "missing")]
    shifts = {language_name(code): estimates.maybe(SHIFT, language=code) for code in asked}
    counts = {name: row.n if row else 0 for name, row in shifts.items()}
    if local := estimates.maybe(LOCAL):
        counts["the language of their region"] = local.n
    few = {name: n for name, n in counts.items() if n < settings.least}
    missing = unanswered(estimates, settings.tolerance)
    reasons = [
        too_few_of("landmarks described in", few, settings.least) if few else "",
        filled(
            "replies are refused or empty more often in some languages than in others, and not shown to be "
            f"within {settings.tolerance:.0%} of them ({{}})",
            (f"{language_name(code)} {share:.0%}" for code, share in _most(missing)),
        ),
    ]
    return "; ".join(filter(None, reasons))


def _most(shares: dict[str, float]) -> Iterator[tuple[str, float]]:
    """The languages whose shares lie farthest from the mean of these, so many as a sentence names."""
    mean = sum(shares.values()) / len(shares) if shares else 0.0
    yield from sorted(shares.items(), key=lambda item: -abs(item[1] - mean))[:NAMED]


def biased(estimates: Estimates, shown: Sequence[Estimate], n: int) -> str:
    """The shifts that show bias, the largest first, and the local advantage if it does, of `n` effects."""

    def by(row: Estimate) -> str:
        return by_share(row) + (of_many(n) if row is shown[0] else "")

    claims = [
        f"landmarks are described {side} in {named(rows, by)} than in the other languages"
        for side, rows in by_side([row for row in shown if _is_shift(row)], "worse", "better")
    ]
    claims += [
        f"landmarks are described {'better' if row.value > 0 else 'worse'} in the language of their region "
        f"than in foreign ones ({by(row)})"
        for row in shown
        if not _is_shift(row)
    ]
    return f"Yes: {'; '.join(claims)}, in percent of {_margin(estimates)}."


def fair(estimates: Estimates, effects: Sequence[Estimate], settings: MemorySettings) -> str:
    """That all effects are small."""
    n, local = sum(map(_is_shift, effects)), not all(map(_is_shift, effects))
    others = ", and in local ones as well as in foreign ones" if local else ""
    return (
        f"No: landmarks are described alike in all {n} languages{others}, within {settings.tolerance:.0%} of "
        f"{_margin(estimates)}, intervals included."
    )


def undecided(
    estimates: Estimates, effects: Sequence[Estimate], unjudged: str, settings: MemorySettings
) -> str:
    """The largest effect, and what could not be judged."""
    row = max(effects, key=lambda effect: abs(effect.value))
    about = f"descriptions in {language_of(row)} score" if _is_shift(row) else "local languages score"
    side = "less" if row.value < 0 else "more"
    return (
        f"Unclear at {settings.tolerance:.0%}: {f'{unjudged}; ' if unjudged else ''}what differs most is "
        f"that {about} {side} than others of the same landmarks, {by_share(row)}"
        f"{of_many(len(effects))}{',' if len(effects) > 1 else ''} of {_margin(estimates)}."
    )


def evidence(estimates: Estimates, shown: Sequence[Estimate], unjudged: str) -> Iterator[str]:
    """What the answer rests on; `shown` are the effects that show bias."""
    yield f"Not judged: {unjudged}." if unjudged else ""
    rows = {setting: row for setting in ASKED if (row := estimates.maybe(SCORE, setting=setting))}
    floors = [row.chance for row in rows.values() if row.chance is not None]
    beside = f"; with other landmarks' pictures {sum(floors) / len(floors):.3f}" if floors else ""
    scores = (f"{row.value:.3f} {ASKED[setting]} ({setting})" for setting, row in rows.items())
    yield filled(f"Mean score {{}}{beside}.", scores)
    if row := estimates.maybe(CONSISTENCY):
        cells = estimates.maybe("undefined cells")
        lacking = f" {cells.value:.0%} of its cells are undefined." if cells and cells.value else ""
        yield (
            f"Consistency across languages {row:.1%}; with landmarks shuffled between languages, which share "
            f"no memory then, {row.chance:.1%}.{lacking}"
        )
    shifts = [_matched(estimates, row.keys["language"]) for row in shown if _is_shift(row)]
    yield filled("Shift among descriptions about as long, as a score: {}.", shifts[:NAMED])
    yield _adhering(estimates)
    of_all = ((name, estimates.maybe(SHARE, category=name)) for name in CATEGORIES[1:])
    shares = (f"{row.value:.1%} {name}" for name, row in of_all if row and row.value)
    yield filled("Of all replies: {}.", shares)
    yield from (_robust(estimates, variant) for variant in VARIANTS)
    failed = [row for row in estimates.by("translator", "failed translations") if row.value]
    shares = (f"{row.value:.1%} of those of the {row.keys['translator']} translator" for row in failed)
    yield filled("Translations that could not be read: {}.", shares)
    if (row := estimates.maybe("texts cut by the scorer")) and row.value:
        yield f"The scorer reads only the beginning of {row.value:.0%} of the texts."


def limits(settings: MemorySettings) -> tuple[str, ...]:
    """What the verdict does not say."""
    linked = f" Its own run is in {settings.scorer_run}." if settings.scorer_run else ""
    translated = () if settings.translator == AS_IT_IS else (TRANSLATED,)
    return (LENGTH, SCORER + linked, *translated, *(() if settings.prompts else (UNCHECKED,)))


def _is_shift(row: Estimate) -> bool:
    """Whether it is of one language, not of local languages together."""
    return "language" in row.keys


def _margin(estimates: Estimates) -> str:
    return f"what a description scores with its own landmark over others ({estimates.one(MARGIN).value:.3f})"


def _matched(estimates: Estimates, language: str) -> str:
    """What is left of a shift when texts about as long are compared."""
    alike = estimates.maybe(MATCHED, language=language)
    left = f"{alike.value:+.3f}" if alike else "not available"
    whole = estimates.one(SHIFT, language=language)
    return f"{language_name(language)} {left} (of all {whole.value:+.3f})"


def _adhering(estimates: Estimates) -> str:
    row = estimates.maybe(ADHERENCE)
    detected = sorted(estimates.by("language", ADHERENCE), key=lambda entry: entry.value)
    scored = {entry.keys["language"] for entry in estimates.by("language", SHARE, category=CATEGORIES[0])}
    unknown = sorted(scored - {entry.keys["language"] for entry in detected})
    beyond = filled("Not known to the detector, or without a reply: {}.", map(language_name, unknown))
    if row is None:
        return beyond
    low = [entry for entry in detected if entry.high < LOW][:NAMED]
    lowest = f"; fewer than {LOW:.0%} in {in_brackets(low)}" if low else ""
    return f"{row.value:.1%} of replies are in the language asked for{lowest}. {beyond}".rstrip()


def _robust(estimates: Estimates, variant: str) -> str:
    changes = [
        f"{setting} by {row.value:+.3f}"
        for setting in ASKED
        if (row := estimates.maybe("score change", setting=setting, variant=variant))
    ]
    if row := estimates.maybe("consistency change", variant=variant):
        changes.append(f"consistency by {100 * row.value:+.1f} points")
    return filled(f"The {variant} changes {{}}.", changes)
