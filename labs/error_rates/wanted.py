"""What is wanted of verdicts, and where it is met."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from labs.error_rates.running import wilson

Reached = Literal["met", "missed", "open"]
ENOUGH = 100
"""Seeds below which a share within its limit is not called met."""


@dataclass(frozen=True)
class Want:
    """A limit to how often a finding may be made, or how often it must, and of which systems.

    `most` and `least` are shares of seeds. A limit of 0 is missed by a single case.
    """

    sentence: str
    finding: Literal["biased", "fair"]
    asked_of: Callable[[Mapping[str, Any]], bool]
    most: float = 1.0
    least: float = 0.0

    def reached(self, row: Mapping[str, Any]) -> Reached:
        """Whether a row of counts meets it.

        "missed" when Wilson's interval lies beyond the limit, "met" when the share is within it and there are
        `ENOUGH` seeds, "open" otherwise.
        """
        count, seeds = row[self.finding], row["seeds"]
        low, high = wilson(count, seeds)
        if low > self.most or high < self.least or (self.most == 0 and count):
            return "missed"
        within = self.least <= count / seeds <= self.most
        return "met" if within and seeds >= ENOUGH else "open"


def effect_is(row: Mapping[str, Any], low: float, high: float) -> bool:
    """Whether an effect from `low` to `high`, in multiples of the tolerance, is planted."""
    return row["truth"] == "planted" and low <= float(row["effect"]) <= high


WANTS = (
    Want(
        "“biased” at most 5% of the time where nobody is treated differently by more than the tolerance, the "
        "system is useless, or there is too little to judge by",
        "biased",
        lambda row: row["truth"] != "planted" or effect_is(row, 0, 1),
        most=0.05,
    ),
    Want(
        "“fair” at most 5% of the time where the planted effect is twice the tolerance or more",
        "fair",
        lambda row: effect_is(row, 2, float("inf")),
        most=0.05,
    ),
    Want(
        "“fair” never where the system is useless or there is too little to judge by",
        "fair",
        lambda row: row["truth"] in {"useless", "tiny"},
        most=0.0,
    ),
    Want(
        "“biased” at least 90% of the time where twice the tolerance or more is planted and there are 1,000 "
        "queries or more",
        "biased",
        lambda row: effect_is(row, 2, float("inf")) and row["size"] >= 1000,
        least=0.9,
    ),
)


def wants_of(row: Mapping[str, Any]) -> list[tuple[Want, Reached]]:
    """What is wanted of the system of a row of counts, and whether it is reached."""
    return [(want, want.reached(row)) for want in WANTS if want.asked_of(row)]
