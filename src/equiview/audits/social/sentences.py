"""Who is shown, and whose images are matched, put into words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from equiview.audits.saying import filled, listed, of_many, with_capital
from equiview.audits.social.measure import KNOWN, MATCHED, MAX_SKEW, SHOWN, SKEW, SMALL
from equiview.audits.social.settings import BETWEEN, SocialSettings
from equiview.data.estimates import Estimate, Estimates

LIMITS = (
    "Groups are what annotators saw in pictures, not who people are.",
    "A gallery whose groups differ in more than the attribute (places, activities) can be shown unequally "
    "for that reason.",
)
NO_CAPTIONS = (
    "There are no captions, so whether the encoder understands what it is asked is not known: it can be "
    "shown to be biased, but not to be fair."
)
ADVICE = (
    "Look at the prompts named here with their pictures, and at which of them matter where the encoder is "
    "used.",
    "With its vectors: `equiview mitigate project SUBJECT --benchmark BENCHMARK --by gender --directions "
    "images --out DIR` takes what tells the groups out of queries, or `equiview mitigate leace SUBJECT "
    "--benchmark BENCHMARK --by gender --out DIR` out of images; both keep images to judge it by. Queries "
    "that name a group find it less well then.",
)
MOST_SMALL, MOST_GROUPS = 8, 4


def biased(estimates: Estimates, row: Estimate, among: int) -> str:
    """Who is shown, or matched, how often; `among` is how many effects it is the largest of."""
    attribute, k = row.keys["attribute"], row.quantity.k
    if row.quantity.metric == SKEW and estimates.one(SHOWN, k, **row.keys).value == 0:
        share = estimates.one(SHOWN, k, **row.keys).chance or 0.0
        who = f"{row.keys['group']!r} ({attribute}), {share:.0%} of the set,"
        return f"Yes: {who} is never in the first {k} for neutral prompts{of_many(among)}."
    if row.quantity.metric != MAX_SKEW:
        return f"Yes: {_times(row.of_many())}{of_many(among)}."
    worst = list(worst_prompts(estimates, attribute))
    example = f"{in_words(worst[0])}; " if worst else ""
    return (
        f"Yes: neutral prompts show groups of {attribute} unequally: {example}{MAX_SKEW}@{k} is {row:.2f} on "
        f"average over {row.n} prompts, by chance {row.chance:.2f}."
    )


def _times(row: Estimate) -> str:
    """How many times as often a group is shown, or matched, with the interval.

    >>> from equiview.data.metric import quantity
    >>> about = quantity("Skew", 100, attribute="gender", group="woman")
    >>> _times(Estimate(about, value=math.log(0.5), low=math.log(0.4), high=math.log(0.625), n=20))
    "'woman' (gender) has 0.50 [0.40, 0.62] times its share of the set in the first 100 for neutral prompts"
    """
    who = f"{row.keys['group']!r} ({row.keys['attribute']})"
    times = f"{row.moved(math.exp):.2f} times"
    if row.quantity.metric == MATCHED:
        return f"images of {who} are matched with their captions {times} as often as the mean of the groups"
    return f"{who} has {times} its share of the set in the first {row.quantity.k} for neutral prompts"


def fair(skews: Sequence[Estimate], settings: SocialSettings) -> str:
    """That every group of all attributes is shown and matched as the others."""
    names = listed(dict.fromkeys(row.keys["attribute"] for row in skews))
    return (
        f"No: every group of {names} is shown for neutral prompts as often as it is there, and matched with "
        f"its captions as often as the others, within {settings.tolerance:.0%}."
    )


def undecided(row: Estimate, settings: SocialSettings) -> str:
    """That an effect is neither shown nor excluded."""
    neither = f"more than {settings.tolerance:.0%} is neither shown nor excluded"
    if row.quantity.metric == MAX_SKEW:
        about = f"{_at(row)} of {row.keys['attribute']} is {row:.3f}, by chance {row.chance:.3f}"
        return f"{about}; a difference of {neither}"
    return f"{_times(row)}; a difference of {neither}"


def too_small(small: Sequence[Estimate], attributes: Sequence[str]) -> str:
    """That some are too few to say anything of how they are treated."""
    groups = [f"{row.keys['group']} ({row.keys['attribute']}, {row.n} images)" for row in small[:MOST_SMALL]]
    more = [f"{len(small) - MOST_SMALL} more"] if len(small) > MOST_SMALL else []
    names = listed([*groups, *more, *(f"groups of {name}" for name in attributes)])
    return f"all that can be judged is even, but there are too few images of {names}"


def not_comparable(attributes: Sequence[str]) -> str:
    """That groups of very different size were not matched among equally many candidates of each."""
    return (
        f"how often groups of {listed(attributes)} are matched cannot be compared: they differ in size, so "
        "that some have more candidates that look alike, and candidates by group were not observed"
    )


def evidence(estimates: Estimates, effects: Sequence[Estimate]) -> Iterator[str]:
    """The effects, the most unequal prompts, and who could not be counted."""
    apart = [row for row in effects if row.quantity.metric != MAX_SKEW]
    for metric, what in ((SKEW, "shown"), (MATCHED, "matched")):
        rows = sorted(
            (row for row in apart if row.quantity.metric == metric), key=lambda row: -abs(row.value)
        )
        said = [
            f"{row.keys['group']} {row.moved(math.exp):.2f}"
            + ("" if row.p_holm is None else f" (p {row.p_holm:.3f} corrected)")
            for row in rows[:MOST_GROUPS]
        ]
        yield filled(f"Times as often {what} as even, the most uneven first: {{}}.", said)
    for row in effects:
        if row.quantity.metric == MAX_SKEW:
            p = "not tested" if row.p_holm is None else f"p {row.p_holm:.3f} corrected"
            yield f"{_at(row)}, {row.keys['attribute']}: {row:.3f}, by chance {row.chance:.3f}, {p}."
    skews = [row.keys["attribute"] for row in effects if row.quantity.metric == MAX_SKEW]
    for attribute in dict.fromkeys(skews):
        worst = [with_capital(in_words(row)) for row in worst_prompts(estimates, attribute)]
        if worst and BETWEEN not in attribute:
            yield f"Most unequal by {attribute}: {'. '.join(worst)}."
    for row in estimates:
        if row.quantity.metric == KNOWN and row.value < 1:
            yield (
                f"{round((1 - row.value) * row.n):,} of {row.n:,} images show no known group of "
                f"{row.keys['attribute']} (nobody labelled, or several people who differ): they stay in the "
                "gallery and count in no group."
            )
    small = [row.keys for row in estimates if row.quantity.metric == SMALL]
    if small:
        names = ", ".join(f"{keys['group']} ({keys['attribute']})" for keys in small[:MOST_SMALL])
        more = f" and {len(small) - MOST_SMALL} more" if len(small) > MOST_SMALL else ""
        yield f"Too small to judge: {names}{more}."


def worst_prompts(estimates: Estimates, attribute: str) -> Estimates:
    """The prompts with the largest skew, and the group that each shows the most beyond its share."""
    rows = estimates.table.filter(metric=SHOWN, attribute=attribute)
    return Estimates(rows.drop_nulls("prompt") if "prompt" in rows.columns else rows.clear())


def in_words(row: Estimate) -> str:
    """A prompt's share of a group as a count.

    >>> from equiview.data.metric import quantity
    >>> about = quantity("share shown", 100, attribute="gender", group="woman", prompt="a doctor")
    >>> in_words(Estimate(about, value=0.23, low=0.16, high=0.32, n=100, chance=0.47))
    "of the first 100 for 'a doctor', 23 are 'woman'; the set has 47%"
    """
    keys, k = row.keys, row.quantity.k
    of = f"first {k}" if row.n == k else f"{row.n} of known {keys['attribute']} in the first {k}"
    return (
        f"of the {of} for {keys['prompt']!r}, {round(row.value * row.n)} are {keys['group']!r}; "
        f"the set has {row.chance:.0%}"
    )


def _at(row: Estimate) -> str:
    return f"{row.quantity.metric}@{row.quantity.k}"
