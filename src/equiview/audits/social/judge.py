"""The answer in words: whom neutral prompts show, and whose images are matched."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from equiview.audits.judging import decide, largest, shows_bias
from equiview.audits.social.measure import KNOWN, MAX_SKEW, SHOWN, SMALL
from equiview.audits.social.recall import DIVERGENCE, LEVEL
from equiview.audits.social.settings import BETWEEN, SocialSettings
from equiview.data.estimates import Estimate, Estimates
from equiview.data.verdict import Effect, Finding, Verdict
from equiview.stats.means import LEAST

SKILL = 0.001
"""How unlikely by chance the matching of images with captions must be, for an encoder to be judged."""
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


@dataclass(frozen=True)
class Effects:
    """What the verdict reads, above its floor: MaxSkew, and KL of R of attributes."""

    skews: tuple[Estimate, ...]
    divergences: tuple[Estimate, ...]

    @classmethod
    def of(cls, estimates: Estimates) -> Effects:
        """Those that are large enough to judge; MaxSkew at the cutoff where lists are judged."""
        rows = list(estimates)
        skews = [row for row in rows if row.quantity.metric == MAX_SKEW]
        deepest = max((row.quantity.k or 0 for row in skews), default=0)
        kept = [row for row in skews if row.quantity.k == deepest and row.judged]
        divergences = [row for row in rows if row.quantity.metric == DIVERGENCE and row.judged]
        return cls(tuple(kept), tuple(row for row in divergences if not _is_intersection(row)))

    def with_tolerance(self, settings: SocialSettings) -> list[tuple[Estimate, float]]:
        """Each with what it may be above its floor."""
        return [(row, settings.skew_tolerance) for row in self.skews] + [
            (row, settings.divergence_tolerance) for row in self.divergences
        ]


def judge(estimates: Estimates, settings: SocialSettings) -> Verdict:
    """Biased when a group is shown, or matched, beyond chance and tolerance; fair when no attribute's is.

    Intersections can show bias. That an encoder is fair is said of attributes alone: the groups of
    intersections are too small for that.
    """
    effects = Effects.of(estimates)
    captioned = estimates.table.filter(metric=LEVEL).height > 0
    missing = _missing(estimates, effects)
    finding = _finding(effects, settings, missing, captioned)
    both = effects.with_tolerance(settings)
    shown = [(row, limit) for row, limit in both if shows_bias(row.above_chance(), limit)]
    shown.sort(key=lambda entry: (entry[0] in effects.divergences, -entry[0].above_chance().value / entry[1]))
    answer = {
        "biased": lambda: f"Yes: {_said(estimates, shown[0][0])}.",
        "fair": lambda: _fair(effects, settings),
        "unclear": lambda: f"Not decided: {missing or _between(effects, settings, captioned)}.",
    }[finding]()
    return Verdict(
        finding=finding,
        answer=answer,
        evidence=tuple(_evidence(estimates, effects, settings)),
        advice=ADVICE if finding == "biased" else (),
        limits=LIMITS if captioned else (*LIMITS, NO_CAPTIONS),
        effect=_effect(effects, settings),
    )


def _finding(effects: Effects, settings: SocialSettings, missing: str, captioned: bool) -> Finding:
    kinds = ((effects.skews, settings.skew_tolerance), (effects.divergences, settings.divergence_tolerance))
    findings = set()
    for rows, tolerance in kinds:
        for row in rows:
            finding = decide(row.above_chance(), tolerance=tolerance, missing=missing)
            if finding == "biased" or not _is_intersection(row):
                findings.add(finding)
    if "biased" in findings:
        return "biased"
    return "fair" if findings == {"fair"} and captioned else "unclear"


def _effect(effects: Effects, settings: SocialSettings) -> Effect | None:
    """What the answer names, else the MaxSkew that lies farthest above its floor."""
    both = effects.with_tolerance(settings)
    if not both:
        return None

    def order(entry: tuple[Estimate, float]) -> tuple[bool, bool, float]:
        row, limit = entry[0].above_chance(), entry[1]
        return shows_bias(row, limit), entry[0] in effects.skews, row.value / limit

    row, limit = max(both, key=order)
    found = largest([row.above_chance()], limit)
    return None if found is None else found.model_copy(update={"among": len(both)})


def _missing(estimates: Estimates, effects: Effects) -> str:
    """What is missing for a judgement; nothing where there is enough."""
    if not effects.skews:
        names = estimates.table.filter(metric=KNOWN)["attribute"].unique(maintain_order=True).to_list()
        return (
            f"no two groups of {', '.join(names)} are large enough to judge, or prompts are of fewer than "
            f"{LEAST} concepts"
        )
    levels = [
        row for row in estimates if row.quantity.metric == LEVEL and set(row.quantity.keys) == {"direction"}
    ]
    if levels and not any(map(_skilled, levels)):
        row = levels[0]
        return (
            "the encoder is no better than chance at matching images with their captions "
            f"(R@{row.quantity.k} {row.value:.1%}, chance {row.chance or 0:.1%})"
        )
    return ""


def _skilled(level: Estimate) -> bool:
    """Whether so many hits would be rare for an encoder that guesses (binomial test)."""
    from scipy.special import bdtrc  # slow to import

    hits, chance = round(level.value * level.n), level.chance or 0.0
    return hits > 0 and chance < 1 and float(bdtrc(hits - 1, level.n, chance)) <= SKILL


def _said(estimates: Estimates, row: Estimate) -> str:
    """An effect in words: who is shown how often, or who is matched how often."""
    attribute = row.quantity.keys["attribute"]
    if row.quantity.metric == DIVERGENCE:
        direction = row.quantity.keys["direction"]
        levels = estimates.by("group", LEVEL, row.quantity.k, attribute=attribute, direction=direction)
        ordered = sorted(levels, key=lambda level: level.value)
        least, most = (
            f"{level.value:.0%} ({level.quantity.keys['group']})" for level in (ordered[0], ordered[-1])
        )
        return (
            f"groups of {attribute} are matched unequally, R@{row.quantity.k} {direction.replace('-', ' ')} "
            f"is from {least} to {most} (KL {row:.4f}, by chance {row.chance:.4f})"
        )
    worst = worst_prompts(estimates, attribute)
    example = f"{in_words(worst[0])}; " if worst else ""
    return (
        f"neutral prompts show groups of {attribute} unequally: {example}{MAX_SKEW}@{row.quantity.k} is "
        f"{row:.2f} on average over {row.n} prompts, by chance {row.chance:.2f}"
    )


def _is_intersection(row: Estimate) -> bool:
    return BETWEEN in row.quantity.keys["attribute"]


def worst_prompts(estimates: Estimates, attribute: str) -> list[Estimate]:
    """The prompts with the largest skew, and the group that each shows the most beyond its share."""
    if "prompt" not in estimates.keys:
        return []
    rows = estimates.table.filter(pl.col("prompt").is_not_null(), metric=SHOWN, attribute=attribute)
    return list(Estimates(rows))


def in_words(row: Estimate) -> str:
    """A prompt's share of a group as a count.

    >>> from equiview.data.metric import quantity
    >>> about = quantity("share shown", 100, attribute="gender", group="woman", prompt="a doctor")
    >>> in_words(Estimate(about, value=0.23, low=0.16, high=0.32, n=100, chance=0.47))
    "of the first 100 for 'a doctor', 23 are 'woman'; the set has 47%"
    """
    keys, k = row.quantity.keys, row.quantity.k
    of = f"first {k}" if row.n == k else f"{row.n} of known {keys['attribute']} in the first {k}"
    return (
        f"of the {of} for {keys['prompt']!r}, {round(row.value * row.n)} are {keys['group']!r}; "
        f"the set has {row.chance:.0%}"
    )


def _fair(effects: Effects, settings: SocialSettings) -> str:
    names = [row.quantity.keys["attribute"] for row in effects.skews if not _is_intersection(row)]
    return (
        f"No: groups of {' and '.join(names)} are shown for neutral prompts, and matched with their "
        f"captions, as by chance, or within {settings.tolerance:.0%} of it."
    )


def _between(effects: Effects, settings: SocialSettings, captioned: bool) -> str:
    """Why neither is shown: what is not shown to lie within its tolerance, by the largest margin."""
    both = [(row.above_chance(), row, limit) for row, limit in effects.with_tolerance(settings)]
    both = [entry for entry in both if not _is_intersection(entry[1])]
    undecided = [entry for entry in both if not entry[0].high <= entry[2]]
    if not undecided:
        return NO_CAPTIONS[0].lower() + NO_CAPTIONS[1:].rstrip(".") if not captioned else "nothing was judged"
    _, row, _ = max(undecided, key=lambda entry: entry[0].high / entry[2])
    keys = row.quantity.keys
    return (
        f"{row.quantity.metric}@{row.quantity.k} of {keys['attribute']} is {row:.3f}, by chance "
        f"{row.chance:.3f}; that groups differ by more than {settings.tolerance:.0%} is neither shown nor "
        "excluded"
    )


def _evidence(estimates: Estimates, effects: Effects, settings: SocialSettings) -> list[str]:
    lines = []
    for row in (*effects.skews, *effects.divergences):
        keys = row.quantity.keys
        direction = f", {keys['direction'].replace('-', ' ')}" if "direction" in keys else ""
        p = "not tested" if row.p_holm is None else f"p {row.p_holm:.3f} corrected"
        lines.append(
            f"{row.quantity.metric}@{row.quantity.k}, {keys['attribute']}{direction}: {row:.3f}, by chance "
            f"{row.chance:.3f}, {p}."
        )
    for attribute in dict.fromkeys(row.quantity.keys["attribute"] for row in effects.skews):
        worst = [in_words(row) for row in worst_prompts(estimates, attribute)]
        if worst and BETWEEN not in attribute:
            lines.append(
                f"Most unequal by {attribute}: {'. '.join(line[0].upper() + line[1:] for line in worst)}."
            )
    for row in estimates:
        if row.quantity.metric == KNOWN and row.value < 1:
            count = round((1 - row.value) * row.n)
            lines.append(
                f"{count:,} of {row.n:,} images show no known group of {row.quantity.keys['attribute']} "
                "(nobody labelled, or several people who differ): they stay in the gallery and count in no "
                "group."
            )
    small = [row.quantity.keys for row in estimates if row.quantity.metric == SMALL]
    if small:
        names = ", ".join(f"{keys['group']} ({keys['attribute']})" for keys in small[:8])
        more = f" and {len(small) - 8} more" if len(small) > 8 else ""
        lines.append(f"Too small to judge, and left out of the groups: {names}{more}.")
    return lines
