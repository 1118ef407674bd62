"""Whether neutral prompts show some groups more, and whether images of some are matched more often."""

from __future__ import annotations

from dataclasses import dataclass

from equiview.audits.judging import decide, largest, shows_bias, skilled, together, verdict
from equiview.audits.saying import beside_chance, not_decided, without_capital
from equiview.audits.social import sentences as say
from equiview.audits.social.measure import KNOWN, MAX_SKEW
from equiview.audits.social.recall import DIVERGENCE, LEVEL
from equiview.audits.social.settings import BETWEEN, SocialSettings
from equiview.data.estimates import Estimate, Estimates
from equiview.data.verdict import Verdict
from equiview.stats.means import LEAST


@dataclass(frozen=True)
class Judged:
    """An effect that the verdict reads, above its floor: MaxSkew, or KL of R of an attribute."""

    row: Estimate
    tolerance: float

    @property
    def effect(self) -> Estimate:
        """The same less its floor."""
        return self.row.above_chance()

    @property
    def is_skew(self) -> bool:
        """Whether it is of what prompts show, not of what is matched."""
        return self.row.quantity.metric == MAX_SKEW

    @property
    def shown(self) -> bool:
        """Whether it shows bias."""
        return shows_bias(self.effect, self.tolerance)

    @property
    def share(self) -> float:
        """How large it is beside its tolerance."""
        return self.effect.value / self.tolerance

    @property
    def of_attribute(self) -> bool:
        """Whether it is of an attribute; groups of intersections are too small for excluding anything."""
        return BETWEEN not in self.row.keys["attribute"]


def judge(estimates: Estimates, settings: SocialSettings) -> Verdict:
    """Biased when a group is shown, or matched, beyond chance and tolerance; fair when no attribute's is.

    Intersections can show bias. That an encoder is fair is said of attributes alone: the groups of
    intersections are too small for that.
    """
    effects = _effects(estimates, settings)
    captioned = estimates.table.filter(metric=LEVEL).height > 0
    missing = _missing(estimates, effects)
    found = [(one, decide(one.effect, tolerance=one.tolerance, missing=missing)) for one in effects]
    finding = together(result for one, result in found if result == "biased" or one.of_attribute)
    if finding == "fair" and not captioned:
        finding = "unclear"
    if finding == "biased":
        shown = [one for one in effects if one.shown]
        answer = say.biased(estimates, min(shown, key=lambda one: (not one.is_skew, -one.share)).row)
    elif finding == "fair":
        answer = say.fair([one.row for one in effects if one.is_skew and one.of_attribute], settings)
    else:
        answer = not_decided(missing or _between(effects, settings, captioned))
    most = max(effects, key=lambda one: (one.shown, one.is_skew, one.share), default=None)
    plotted = largest([most.effect], most.tolerance) if most else None
    return verdict(
        finding,
        answer,
        say.evidence(estimates, [one.row for one in effects]),
        advice=say.ADVICE,
        limits=say.LIMITS if captioned else (*say.LIMITS, say.NO_CAPTIONS),
        effect=plotted and plotted.model_copy(update={"among": len(effects)}),
    )


def _effects(estimates: Estimates, settings: SocialSettings) -> list[Judged]:
    """Those that are large enough to judge; MaxSkew at the cutoff where lists are judged."""
    skews = [Judged(row, settings.skew_tolerance) for row in estimates if row.quantity.metric == MAX_SKEW]
    deepest = max((one.row.quantity.k or 0 for one in skews), default=0)
    rows = [row for row in estimates if row.quantity.metric == DIVERGENCE]
    matched = [Judged(row, settings.divergence_tolerance) for row in rows]
    kept = [one for one in skews if one.row.quantity.k == deepest]
    return [one for one in (*kept, *(one for one in matched if one.of_attribute)) if one.row.judged]


def _missing(estimates: Estimates, effects: list[Judged]) -> str:
    if not any(one.is_skew for one in effects):
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


def _between(effects: list[Judged], settings: SocialSettings, captioned: bool) -> str:
    """Why neither is shown: what is not shown to lie within its tolerance, by the largest margin."""
    undecided = [one for one in effects if one.of_attribute and not one.effect.high <= one.tolerance]
    if undecided:
        most = max(undecided, key=lambda one: one.effect.high / one.tolerance)
        return say.undecided(most.row, settings)
    return "nothing was judged" if captioned else without_capital(say.NO_CAPTIONS).rstrip(".")
