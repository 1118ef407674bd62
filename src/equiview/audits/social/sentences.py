"""Who is shown, and whose images are matched, put into words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from equiview.audits.saying import with_capital
from equiview.audits.social.measure import KNOWN, MAX_SKEW, SHOWN, SMALL
from equiview.audits.social.recall import DIVERGENCE, LEVEL
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
    "Re-rank results for such prompts, or correct their vectors, and audit again.",
)
MOST_SMALL = 8


def biased(estimates: Estimates, row: Estimate) -> str:
    """Who is shown how often, or who is matched how often."""
    attribute, k = row.keys["attribute"], row.quantity.k
    if row.quantity.metric == DIVERGENCE:
        direction = row.keys["direction"]
        levels = estimates.by("group", LEVEL, k, attribute=attribute, direction=direction)
        ordered = sorted(levels, key=lambda level: level.value)
        least, most = (f"{level.value:.0%} ({level.keys['group']})" for level in (ordered[0], ordered[-1]))
        return (
            f"Yes: groups of {attribute} are matched unequally, R@{k} {direction.replace('-', ' ')} "
            f"is from {least} to {most} (KL {row:.4f}, by chance {row.chance:.4f})."
        )
    worst = list(worst_prompts(estimates, attribute))
    example = f"{in_words(worst[0])}; " if worst else ""
    return (
        f"Yes: neutral prompts show groups of {attribute} unequally: {example}{MAX_SKEW}@{k} is {row:.2f} on "
        f"average over {row.n} prompts, by chance {row.chance:.2f}."
    )


def fair(skews: Sequence[Estimate], settings: SocialSettings) -> str:
    """That groups of all attributes are shown and matched alike."""
    names = " and ".join(row.keys["attribute"] for row in skews)
    return (
        f"No: groups of {names} are shown for neutral prompts, "
        f"and matched with their captions, as by chance, or within {settings.tolerance:.0%} of it."
    )


def undecided(row: Estimate, settings: SocialSettings) -> str:
    """That an effect is neither shown nor excluded."""
    return (
        f"{_at(row)} of {row.keys['attribute']} is {row:.3f}, by chance {row.chance:.3f}; that groups differ "
        f"by more than {settings.tolerance:.0%} is neither shown nor excluded"
    )


def evidence(estimates: Estimates, effects: Sequence[Estimate]) -> Iterator[str]:
    """The effects, the most unequal prompts, and who could not be counted."""
    for row in effects:
        direction = f", {row.keys['direction'].replace('-', ' ')}" if "direction" in row.keys else ""
        p = "not tested" if row.p_holm is None else f"p {row.p_holm:.3f} corrected"
        yield f"{_at(row)}, {row.keys['attribute']}{direction}: {row:.3f}, by chance {row.chance:.3f}, {p}."
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
        yield f"Too small to judge, and left out of the groups: {names}{more}."


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
