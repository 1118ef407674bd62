"""Verdicts: an audit's answer in words, and what it claims."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

Finding = Literal["biased", "fair", "unclear"]


class Frozen(BaseModel):
    """A record that is checked when made and never changed."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Reading(Frozen):
    """What several of an audit's numbers say when they are read together, under a title."""

    title: str
    sentence: str


class Verdict(Frozen):
    """An audit's answer in words: one plain sentence, then what it rests on, then what may be done.

    `finding` is what the sentence says: "biased" (Yes), "fair" (No), or "unclear" when the numbers do not
    decide. `audit` is filled in when audits are executed, and so is `question`, unless the verdict brings one
    that its settings make more exact.
    """

    finding: Finding
    answer: str
    evidence: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    readings: tuple[Reading, ...] = ()
    audit: str = ""
    question: str = ""

    def stamped(self, audit: str, question: str) -> Verdict:
        """The same verdict as the answer of `audit` to `question`."""
        return self.model_copy(update={"audit": audit, "question": self.question or question})
