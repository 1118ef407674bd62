"""Whether neutral prompts show some groups more or less, and whether some are matched more often."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from equiview.audits.judging import decide, largest, shows_bias, skilled, together, verdict
from equiview.audits.saying import beside_chance, not_decided, without_capital
from equiview.audits.social import sentences as say
from equiview.audits.social.measure import KNOWN, MATCHED, MAX_SKEW, SKEW, SMALL
from equiview.audits.social.recall import LEVEL
from equiview.audits.social.settings import BETWEEN, SocialSettings
from equiview.data.estimates import Estimate, Estimates
from equiview.data.verdict import Verdict
from equiview.stats.means import LEAST


@dataclass(frozen=True)
class Judged:
    """An effect that the verdict reads: of a group, or MaxSkew of an attribute above its floor."""

    row: Estimate
    tolerance: float

    @property
    def effect(self) -> Estimate:
        """The same less its floor."""
        return self.row.above_chance()

    @property
    def shown(self) -> bool:
        """Whether it shows bias."""
        return shows_bias(self.effect, self.tolerance)

    @property
    def of_attribute(self) -> bool:
        """Whether it is of an attribute; groups of intersections are too small for excluding anything."""
        return BETWEEN not in self.row.keys["attribute"]

    @property
    def within(self) -> bool:
        """Whether it is shown to lie within the tolerance."""
        return decide(self.effect, tolerance=self.tolerance) == "fair"


def judge(estimates: Estimates, settings: SocialSettings) -> Verdict:
    """Biased when a group is shown or matched beyond the tolerance; fair when none of any attribute is.

    Read are, of every group, ln of its share of what prompts show over its share of the set, and ln of its
    R@k over the groups' mean; and of every attribute MaxSkew above its floor, for groups that are shown more
    for some prompts and less for others. All are tested at the tolerance, and corrected together (Holm).
    Groups of intersections can show bias, with a fifth of the share of wrong verdicts; that an encoder is
    fair is said of attributes alone, and never where a group is too small to judge.
    """
    effects = _effects(estimates, settings)
    captioned = estimates.table.filter(metric=LEVEL).height > 0
    missing = _missing(estimates, effects)
    found = [(one, decide(one.effect, tolerance=one.tolerance, missing=missing)) for one in effects]
    finding = together(result for one, result in found if result == "biased" or one.of_attribute)
    forbids = _forbids(estimates, effects, captioned)
    if finding == "fair" and forbids:
        finding = "unclear"
    shown = [one for one in effects if one.shown]
    undecided = [one for one in effects if one.of_attribute and not one.within]
    most = max(shown or undecided or effects, key=lambda one: (one.of_attribute, _size(one)), default=None)
    if missing or most is None:
        answer = not_decided(missing)
    elif finding == "biased":
        answer = say.biased(estimates, most.row, len(effects))
    elif finding == "fair":
        answer = say.fair(effects_of(effects, SKEW), settings)
    else:
        answer = not_decided(say.undecided(most.row, settings) if undecided else forbids)
    return verdict(
        finding,
        answer,
        say.evidence(estimates, [one.row for one in effects]),
        advice=say.ADVICE,
        limits=say.LIMITS if captioned else (*say.LIMITS, say.NO_CAPTIONS),
        effect=_plotted(most, len(effects)),
        able=not missing,
    )


def effects_of(effects: Sequence[Judged], metric: str) -> list[Estimate]:
    """The rows of one metric, of attributes alone."""
    return [one.row for one in effects if one.row.quantity.metric == metric and one.of_attribute]


def _effects(estimates: Estimates, settings: SocialSettings) -> list[Judged]:
    """Those that are large enough to judge; MaxSkew at the cutoff where lists are judged."""
    read = (MAX_SKEW, SKEW, MATCHED)
    rows = [row for row in estimates if row.quantity.metric in read]
    deepest = max((row.quantity.k or 0 for row in rows if row.quantity.metric == MAX_SKEW), default=0)
    return [
        Judged(row, settings.skew_tolerance)
        for row in rows
        if row.judged
        and (
            row.quantity.metric != MAX_SKEW
            or (row.quantity.k == deepest and BETWEEN not in row.keys["attribute"])
        )
    ]


def _size(one: Judged) -> float:
    return abs(one.effect.value)


def _plotted(most: Judged | None, among: int):  # type: ignore[no-untyped-def]
    plotted = largest([most.effect], most.tolerance) if most else None
    return plotted and plotted.model_copy(update={"among": among})


def _missing(estimates: Estimates, effects: list[Judged]) -> str:
    if not effects_of(effects, MAX_SKEW):
        names = estimates.table.filter(metric=KNOWN)["attribute"].unique(maintain_order=True)
        return (
            f"no two groups of {', '.join(names)} are large enough to judge, or prompts are of fewer than "
            f"{LEAST} concepts"
        )
    levels = [row for row in estimates if row.quantity.metric == LEVEL and set(row.keys) == {"direction"}]
    if levels and not any(map(skilled, levels)):
        better = "the encoder is no better than chance at matching images with their captions"
        return f"{better} ({beside_chance(levels[0])})"
    return ""


def _forbids(estimates: Estimates, effects: Sequence[Judged], captioned: bool) -> str:
    """Why "fair" cannot be said even though all that is judged lies within the tolerance; "" where it can."""
    small = [
        row for row in estimates if row.quantity.metric == SMALL and BETWEEN not in row.keys["attribute"]
    ]
    judged = {row.keys["attribute"] for row in effects_of(effects, SKEW)}
    known = estimates.table.filter(metric=KNOWN)["attribute"].unique(maintain_order=True)
    apart = [name for name in known if name not in judged and BETWEEN not in name]
    if small or apart:
        return say.too_small(small, apart)
    if not captioned:
        return without_capital(say.NO_CAPTIONS).rstrip(".")
    matched = {row.keys["attribute"] for row in effects_of(effects, MATCHED)}
    return "" if judged <= matched else say.not_comparable(sorted(judged - matched))
