"""Association bias in words."""

from __future__ import annotations

from equiview.audits.association.measure import CHANCE, RATES, SHARED, TOGETHER
from equiview.audits.association.pull import FROM_CULTURE, MEAN_PULL, PULL, TIED, TO_CULTURE
from equiview.audits.association.settings import AssociationSettings, Direction
from equiview.audits.judging import decide, in_points, largest, shows_bias, with_interval
from equiview.data.countries import countries
from equiview.data.estimates import Estimate, Estimates
from equiview.data.languages import language_name
from equiview.data.verdict import Finding, Verdict

LEAST_LANGUAGES = 6
"""With fewer, no pattern of signs has a probability of 5% or less, so that nothing could be shown."""
KNOWN = 0.5
"""Share of the languages in which the right image must win more often than by chance."""
WORST = 4

ADVICE = (
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


def judge(estimates: Estimates, settings: AssociationSettings) -> Verdict:
    """By the mean pull of languages: biased beyond the tolerance, fair within it.

    Unclear with too few languages, no better than chance, or where the finding depends on who is given ties.
    """
    direction = settings.directions[0]
    pull = estimates.one(MEAN_PULL, direction=direction)
    missing = (
        _too_few(pull)
        or _no_better_than_chance(estimates, direction, settings.tolerance)
        or _ties_decide(estimates, direction, settings.tolerance)
    )
    finding = decide(pull, tolerance=settings.tolerance, missing=missing)
    evidence = (
        _right(estimates, direction),
        _ties(estimates, settings),
        _languages_with_a_pull(estimates, direction, settings.tolerance),
        _worst(estimates, direction),
        _together(estimates, direction),
        _shared(estimates, settings),
    )
    return Verdict(
        finding=finding,
        answer=_answer(finding, estimates, settings, missing),
        evidence=tuple(filter(None, evidence)),
        advice=ADVICE if finding == "biased" and pull.value > 0 else (),
        limits=LIMITS,
        effect=largest([pull], settings.tolerance),
    )


def _answer(finding: Finding, estimates: Estimates, settings: AssociationSettings, missing: str) -> str:
    direction = settings.directions[0]
    pull = estimates.one(MEAN_PULL, direction=direction)
    cultural, other = (estimates.one(name, direction=direction).value for name in RATES[1:])
    sp = estimates.maybe("SP", direction=direction)
    wins = f"a wrong image of the query's culture wins {cultural:.1%} of trials, an unrelated one {other:.1%}"
    numbers = f"in the mean of {pull.n} languages the difference is {with_interval(pull, '+.1f')}"
    limit = in_points(settings.tolerance, ".3g")
    ratio = f" (SP {sp.value:.2f})" if sp else ""
    if missing:
        return f"Not decided: {missing}. As it is, {wins}{ratio}."
    if finding == "unclear":
        return (
            f"Not decided: {wins}{ratio}; {numbers}, neither shown to be beyond the tolerance of {limit} nor "
            "to be within it."
        )
    if finding == "fair":
        return f"No: {wins}{ratio}; {numbers}, which is within {limit}."
    opening = "Yes" if pull.value > 0 else "Yes, but away from its culture"
    return f"{opening}: {wins}{ratio}; {numbers}, which is beyond {limit}."


def _too_few(pull: Estimate) -> str:
    if pull.n >= LEAST_LANGUAGES:
        return ""
    languages = "language" if pull.n == 1 else "languages"
    return f"only {pull.n} {languages}, at least {LEAST_LANGUAGES} are needed"


def _no_better_than_chance(estimates: Estimates, direction: Direction, tolerance: float) -> str:
    """Whether meaning wins no more than chance, so that no pull is no merit; a pull that shows is one still.

    A pull counts if the right image or the cultural one wins more than chance: the encoder knows something.
    """
    semantic, cultural = (estimates.one(name, direction=direction) for name in RATES[:2])
    pull = estimates.one(MEAN_PULL, direction=direction)
    least = CHANCE["M_sem"] + tolerance
    if shows_bias(pull, tolerance) and max(semantic.low, cultural.low) > least:
        return ""
    if semantic.low <= least:
        return (
            f"the right image wins {semantic.value:.0%} of trials, not shown to be above chance, {1 / 3:.0%}"
        )
    known = pull.n - len(_unknown(estimates, direction))
    if known < KNOWN * pull.n:
        return (
            f"the right image is shown to win more often than by chance in only {known} of {pull.n} languages"
        )
    return ""


def _unknown(estimates: Estimates, direction: Direction) -> list[str]:
    """The languages in which the right image is not shown to win more often than by chance."""
    rows = estimates.by("language", "M_sem", direction=direction)
    return [row.quantity.keys["language"] for row in rows if row.low <= CHANCE["M_sem"]]


def _ties_decide(estimates: Estimates, direction: Direction, tolerance: float) -> str:
    """Whether the finding would be another if ties were decided otherwise, and how many ties there are."""
    pulls = [
        estimates.maybe(MEAN_PULL, direction=direction, ties=ties)
        for ties in (None, TO_CULTURE, FROM_CULTURE)
    ]
    known = [pull for pull in pulls if pull]
    findings = {
        (decide(pull, tolerance=tolerance), shows_bias(pull, tolerance) and pull.value > 0) for pull in known
    }
    return _tied(estimates, direction) + ", and they decide the finding" if len(findings) > 1 else ""


def _tied(estimates: Estimates, direction: Direction) -> str:
    tied = estimates.one(TIED, direction=direction)
    return f"{round(tied.value * tied.n):,} of {tied.n:,} trials are ties"


def _ties(estimates: Estimates, settings: AssociationSettings) -> str:
    direction = settings.directions[0]
    if not estimates.one(TIED, direction=direction).value:
        return ""
    given = {
        "first": "a tie is given to the right image before the cultural one, and to that before the other",
        "all": "a tie is counted for each of its images",
        "split": "a tie is shared among its images",
    }[settings.ties]
    return f"{_tied(estimates, direction)}: several images have the highest score; {given}."


def _right(estimates: Estimates, direction: Direction) -> str:
    semantic = estimates.one("M_sem", direction=direction)
    unknown = ", ".join(map(_name, _unknown(estimates, direction)))
    chance = f" It is not shown to win more often than by chance in {unknown}." if unknown else ""
    return f"The right image wins {semantic.value:.0%} of {semantic.n:,} trials.{chance}"


def _languages_with_a_pull(estimates: Estimates, direction: Direction, tolerance: float) -> str:
    rows = list(estimates.by("language", PULL, direction=direction))
    shown = sorted(
        (row for row in rows if shows_bias(row, tolerance)),
        key=lambda row: (-row.value, row.quantity.keys["language"]),
    )
    if not shown:
        return f"Tested one by one, none of {len(rows)} languages has a pull of its own."
    names = ", ".join(
        f"{_name(row.quantity.keys['language'])} {in_points(row.value, '+.0f')}" for row in shown
    )
    have = "has a pull of its own" if len(shown) == 1 else "have a pull of their own"
    return f"Tested one by one, {len(shown)} of {len(rows)} languages {have}: {names}."


def _name(language: str) -> str:
    names = dict(countries().select("language", "language_name").iter_rows())
    return str(names.get(language) or language_name(language))


def _worst(estimates: Estimates, direction: Direction) -> str:
    pulls = {
        row.quantity.keys["country"]: row.value for row in estimates.by("country", PULL, direction=direction)
    }
    worst = sorted((name for name in pulls if pulls[name] > 0), key=lambda name: (-pulls[name], name))[:WORST]
    if not worst:
        return ""
    names = ", ".join(f"{country} {in_points(pulls[country], '+.0f')}" for country in worst)
    return f"Culture gains most over an unrelated image for queries of {names} (M_cul - M_non)."


def _together(estimates: Estimates, direction: Direction) -> str:
    pearson = estimates.maybe(TOGETHER, direction=direction, space="texts")
    if pearson is None:
        return ""
    return (
        f"Across {pearson.n} countries SP goes with how far the language's words stand apart: "
        f"Pearson {pearson:.2f}."
    )


def _shared(estimates: Estimates, settings: AssociationSettings) -> str:
    shared = estimates.one(SHARED)
    if not shared.value:
        return ""
    excluded = "they are excluded" if settings.strict else "`--setting association.strict=true` excludes them"
    return (
        f"In {shared.value:.0%} of trials the semantic or the non-relevant image is of a country that speaks "
        f"the query's language; {excluded}."
    )
