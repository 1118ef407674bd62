"""Association bias in words."""

from __future__ import annotations

from equiview.audits.association.measure import PULL, RATES, SHARED, TOGETHER
from equiview.audits.association.settings import AssociationSettings, Direction
from equiview.audits.judging import finding_of
from equiview.data.estimates import Estimates
from equiview.data.verdict import Verdict

TOLERANCE = 0.05
"""What culture may win beyond a random mistake, as a share of trials, and still be called fair."""
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
)


def judge(estimates: Estimates, settings: AssociationSettings) -> Verdict:
    """Biased when cultural images win more trials than non-relevant ones, by an interval that excludes 0."""
    direction = settings.directions[0]
    pull, semantic, cultural, other = (estimates.one(name, direction=direction) for name in (PULL, *RATES))
    finding = finding_of(biased=pull.low > 0, fair=pull.high < TOLERANCE)
    sp = estimates.maybe("SP", direction=direction)
    wins = f"{cultural.value:.0%} of trials against {other.value:.0%} for an unrelated image" + (
        f", SP {sp:.2f}" if sp else ""
    )
    answer = {
        "biased": f"Yes: a wrong image of the query's culture wins {wins}.",
        "fair": f"No: when meaning loses, culture gains nothing; it wins {wins}.",
        "unclear": f"Too few trials to tell: a wrong image of the query's culture wins {wins}.",
    }[finding]
    evidence = (
        f"The right image wins {semantic:.0%} of {semantic.n:,} trials.",
        _worst(estimates, direction),
        _together(estimates, direction),
        _shared(estimates, settings),
    )
    return Verdict(
        finding=finding,
        answer=answer,
        evidence=tuple(filter(None, evidence)),
        advice=ADVICE if finding == "biased" else (),
        limits=LIMITS,
    )


def _worst(estimates: Estimates, direction: Direction) -> str:
    pulls = {
        row.quantity.keys["country"]: row.value for row in estimates.by("country", PULL, direction=direction)
    }
    if not pulls:
        return ""
    worst = sorted(pulls, key=lambda country: (-pulls[country], country))[:WORST]
    names = ", ".join(f"{country} {pulls[country]:+.0%}" for country in worst)
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
