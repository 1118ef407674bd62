"""Association bias put into words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from equiview.audits.association.measure import CHANCE, RATES, SHARED, TOGETHER
from equiview.audits.association.pull import MEAN_PULL, PULL, TIED
from equiview.audits.association.settings import AssociationSettings, Direction
from equiview.audits.judging import shows_bias
from equiview.audits.saying import filled, in_points, limit, not_decided, with_interval
from equiview.data.countries import countries
from equiview.data.estimates import Estimate, Estimates
from equiview.data.languages import language_name
from equiview.data.verdict import Finding

WORST = 4
ADVICE = (
    "With its vectors: `equiview mitigate leace SUBJECT --benchmark BENCHMARK --by country --share 0.3 --out "
    "DIR` takes what tells the country out of images, and keeps others to judge it by.",
    "Train on pairs that show each concept in many countries, so that no language predicts a place.",
    "Align the text embeddings of the worst languages with those of a language that the encoder knows well, "
    "and measure again. Alignment corrects missing knowledge of a language; it does not remove associations "
    "that were learned in training.",
)
LIMITS = (
    "A country stands for a culture, which leaves out all that crosses borders or lives within them.",
    "SP grows with weakness as well as with bias: M_cul - M_non is what culture adds over a random mistake.",
    "The finding is of the languages together; a single language may lie towards its country by accident.",
)
TIES = {
    "first": "a tie is given to the right image before the cultural one, and to that before the other",
    "all": "a tie is counted for each of its images",
    "split": "a tie is shared among its images",
}


def too_small(estimates: Estimates, direction: Direction, least: int) -> str:
    """The languages with too few trials to call all languages fair; "" where there is none."""
    pulls = estimates.by("language", PULL, direction=direction)
    few = [f"{language_name(row.keys['language'])} ({row.n})" for row in pulls if row.n < least]
    return filled(f"too few trials to judge each language, fewer than {least} in {{}}", few)


def not_known(estimates: Estimates, direction: Direction) -> str:
    """The languages that are not shown to be known; "" where there is none."""
    return filled(
        "the languages together have no pull, but who knows nothing has none either, and the right image is "
        "not shown to win more often than by chance in {}",
        map(_name, unknown(estimates, direction)),
    )


def own_pulls(rows: Sequence[Estimate]) -> str:
    """The languages with a pull of their own; "" where there is none."""
    pulls = [f"{_name(row)} ({in_points(row.value, '+.0f')})" for row in rows]
    return filled("the languages together have no pull, but one of its own is shown in {}", pulls)


def answer(finding: Finding, estimates: Estimates, settings: AssociationSettings, missing: str) -> str:
    """How often a wrong image wins because of its culture, and out of how many."""
    direction = settings.directions[0]
    pull = estimates.one(MEAN_PULL, direction=direction)
    cultural, other = (estimates.one(name, direction=direction).value for name in RATES[1:])
    sp = estimates.maybe("SP", direction=direction)
    wins = f"a wrong image of the query's culture wins {cultural:.1%} of trials, an unrelated one {other:.1%}"
    wins += f" (SP {sp.value:.2f})" if sp else ""
    if missing:
        return f"{not_decided(missing)} As it is, {wins}."
    numbers = f"{wins}; in the mean of {pull.n} languages the difference is {with_interval(pull, '+.1f')}"
    within = limit(settings.tolerance)
    if finding == "unclear":
        return not_decided(
            f"{numbers}, neither shown to be beyond the tolerance of {within} nor to be within it"
        )
    if finding == "fair":
        return f"No: {numbers}, which is within {within}."
    away = "" if pull.value > 0 else ", but away from its culture"
    return f"Yes{away}: {numbers}, which is beyond {within}."


def evidence(estimates: Estimates, settings: AssociationSettings) -> Iterator[str]:
    """What the answer rests on."""
    direction = settings.directions[0]
    semantic = estimates.one("M_sem", direction=direction)
    chance = filled(
        " It is not shown to win more often than by chance in {}.", map(_name, unknown(estimates, direction))
    )
    yield f"The right image wins {semantic.value:.0%} of {semantic.n:,} trials.{chance}"
    if estimates.one(TIED, direction=direction).value:
        given = TIES[settings.ties]
        yield f"{tied(estimates, direction)}: several images have the highest score; {given}."
    yield _one_by_one(estimates, direction, settings.tolerance)
    pulls = sorted(
        (row for row in estimates.by("country", PULL, direction=direction) if row.value > 0),
        key=lambda row: (-row.value, row.keys["country"]),
    )
    yield filled(
        "Culture gains most over an unrelated image for queries of {} (M_cul - M_non).",
        (f"{row.keys['country']} {in_points(row.value, '+.0f')}" for row in pulls[:WORST]),
    )
    if pearson := estimates.maybe(TOGETHER, direction=direction, space="texts"):
        yield (
            f"Across {pearson.n} countries SP goes with how far the language's words stand apart: "
            f"Pearson {pearson:.2f}."
        )
    if share := estimates.one(SHARED).value:
        excluded = (
            "they are excluded" if settings.strict else "`--setting association.strict=true` excludes them"
        )
        yield (
            f"In {share:.0%} of trials the semantic or the non-relevant image is of a country that speaks "
            f"the query's language; {excluded}."
        )


def unknown(estimates: Estimates, direction: Direction) -> list[Estimate]:
    """The languages in which the right image is not shown to win more often than by chance."""
    rows = estimates.by("language", "M_sem", direction=direction)
    return [row for row in rows if row.low <= CHANCE["M_sem"]]


def tied(estimates: Estimates, direction: Direction) -> str:
    """How many ties there are."""
    row = estimates.one(TIED, direction=direction)
    return f"{round(row.value * row.n):,} of {row.n:,} trials are ties"


def _one_by_one(estimates: Estimates, direction: Direction, tolerance: float) -> str:
    """The languages that have a pull of their own."""
    rows = list(estimates.by("language", PULL, direction=direction))
    own = [row for row in rows if shows_bias(row, tolerance)]
    if not own:
        return f"Tested one by one, none of {len(rows)} languages has a pull of its own."
    own.sort(key=lambda row: (-row.value, row.keys["language"]))
    names = ", ".join(f"{_name(row)} {in_points(row.value, '+.0f')}" for row in own)
    have = "has a pull of its own" if len(own) == 1 else "have a pull of their own"
    return f"Tested one by one, {len(own)} of {len(rows)} languages {have}: {names}."


def _name(row: Estimate) -> str:
    language = row.keys["language"]
    names = dict(countries().select("language", "language_name").iter_rows())
    return str(names.get(language) or language_name(language))
