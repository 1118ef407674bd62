"""Gaps between two groups before and after: whether the group that is served better stays so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from equiview.audits import installed
from equiview.stats import wilson_interval
from equiview.studies.transfer.measures import Measure


@dataclass(frozen=True)
class Gap:
    """The first group's value less the second's, before and after, of each model.

    `points` are (model, gap before, gap after); `groups` names the two.
    """

    before: Measure
    after: Measure
    groups: tuple[str, str]
    points: tuple[tuple[str, float, float], ...]

    @property
    def keys(self) -> dict[str, str]:
        """What its estimates are about."""
        return {"before": self.before.label, "after": self.after.label, "attribute": self.before.attribute}

    @property
    def kept(self) -> tuple[int, int]:
        """How many models favour the same group before and after, and how many favour one at both times."""
        decided = [before * after for _, before, after in self.points if before * after]
        return sum(product > 0 for product in decided), len(decided)


def gaps(before: Sequence[Sequence[Measure]], after: Sequence[Sequence[Measure]]) -> list[Gap]:
    """Every quantity of two groups before with every one after of the same two groups, levels first."""
    found = []
    for first, second in before:
        for entries in after:
            by_group = {entry.group: entry for entry in entries}
            if first.attribute != entries[0].attribute or by_group.keys() != {first.group, second.group}:
                continue
            third, fourth = by_group[first.group], by_group[second.group]
            names = [
                name for name in first.values if all(name in part.values for part in (second, third, fourth))
            ]
            points = tuple(
                (name, first.values[name] - second.values[name], third.values[name] - fourth.values[name])
                for name in names
            )
            if points:
                found.append(Gap(first, third, (first.group, second.group), points))
    return sorted(found, key=lambda gap: -(_is_level(gap.before) + _is_level(gap.after)))


def _is_level(entry: Measure) -> bool:
    """Whether its audit says that more of it is better, as of accuracy: gaps of these are S's Figure 7."""
    known = installed(entry.audit)
    metric = known.metric(entry.quantity.metric) if known else None
    return metric is not None and metric.better == "higher"


def same_direction(gap: Gap) -> dict[str, float] | None:
    """Share of models whose gap keeps its sign, Wilson's interval, and the exact p value of one half."""
    from scipy.stats import binomtest

    kept, n = gap.kept
    if not n:
        return None
    low, high = (float(end) for end in wilson_interval(kept / n, n))
    return {"value": kept / n, "low": low, "high": high, "p": float(binomtest(kept, n).pvalue), "n": n}
