"""Verdicts: an audit's answer in words, and what it claims."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from equiview.data.metric import Quantity

Finding = Literal["biased", "fair", "unclear"]


class Frozen(BaseModel):
    """A record that is checked when made and never changed."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Reading(Frozen):
    """What several of an audit's numbers say when they are read together, under a title."""

    title: str
    sentence: str


class Effect(Frozen):
    """The estimate that a verdict is shown by: how large a difference is beside what would still be fair.

    `quantity` names a row of the estimates. It is fair as long as its distance from its chance floor, or from
    0 where it has none, is at most `tolerance`, in the unit of its metric. `among` is how many the verdict
    reads, of which this is the largest.
    """

    quantity: Quantity
    tolerance: float
    among: int = 1


class Verdict(Frozen):
    """An audit's answer in words: one plain sentence, then what it rests on, then what may be done.

    `finding` is what the sentence says: "biased" (Yes), "fair" (No), or "unclear" when the numbers do not
    decide. `able` says whether the subject was shown to do the task, over enough items to judge by: one that
    cannot is never called better than another. `effect` is what the page plots for it. `audit` is filled in
    when audits are executed, and so is `question`, unless the verdict brings one that its settings make more
    exact.
    """

    finding: Finding
    answer: str
    evidence: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    readings: tuple[Reading, ...] = ()
    effect: Effect | None = None
    able: bool = True
    audit: str = ""
    question: str = ""

    def stamped(self, audit: str, question: str) -> Verdict:
        """The same verdict as the answer of `audit` to `question`."""
        return self.model_copy(update={"audit": audit, "question": self.question or question})
