"""What a question must satisfy that only asking shows (T, appendix H.1, and the checks of equiview)."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from equiview.audits.knowledge.reading import read_answer
from equiview.build.knowrecall import prompts
from equiview.build.knowrecall.candidates import Candidate
from equiview.build.knowrecall.rules import plain, within
from equiview.build.step import Step
from equiview.data.items import Items
from equiview.data.requests import Request

ALIKE = 0.7
"""How alike an answer and an option are that mean the same, as in T's reading of answers."""
UNANSWERED = "it cannot be answered without options"
FLAGS = {
    "about_the_picture": (True, "the question is not about the picture"),
    "picture_is_enough": (False, "the picture alone answers it"),
    "cultural": (True, "the question is not about culture or history"),
}


def without_options(step: Step, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Those whose answer a model that has read the article gives without seeing the options."""
    replies = step.ask([_request(c, f"{c.id}:open", prompts.recall(c), 64) for c in candidates])
    return [
        candidate
        for candidate, reply in zip(candidates, replies, strict=True)
        if step.note(candidate.id, "" if _means(reply, candidate) else UNANSWERED, reply)
    ]


def without_picture(step: Step, candidates: Sequence[Candidate], *, turns: int, seed: int) -> list[Candidate]:
    """Those that a model without picture and article gets wrong in at least one order of the options.

    Guessing is right every time in one of `4 ** turns` questions.
    """
    asked = [[c.shuffled(seed, turn) for turn in range(turns)] for c in candidates]
    requests = [
        _request(c, f"{c.id}:blind-{turn}", prompts.choose(c), 16)
        for orders in asked
        for turn, c in enumerate(orders)
    ]
    replies = iter(step.ask(requests))
    left = []
    for candidate, orders in zip(candidates, asked, strict=True):
        right = [read_answer(next(replies), order.options)[0] == order.truth for order in orders]
        detail = f"right in {sum(right)} of {turns} orders of the options"
        if step.note(candidate.id, "it is answered without the picture" if all(right) else "", detail):
            left.append(candidate)
    return left


def judged(step: Step, candidates: Sequence[Candidate], images: Items) -> list[Candidate]:
    """Those of which a model that sees the picture says that they need it, and are about culture."""
    requests = [_request(c, f"{c.id}:judge", prompts.judge(c), 128, picture=True) for c in candidates]
    left = []
    for candidate, reply in zip(candidates, step.ask(requests, images), strict=True):
        if step.note(candidate.id, step.fault(reply, FLAGS), reply):
            left.append(candidate)
    return left


def _request(candidate: Candidate, name: str, prompt: str, tokens: int, *, picture: bool = False) -> Request:
    return Request(
        id=name,
        prompt=prompt,
        language="en",
        image=candidate.picture if picture else None,
        question=candidate.question,
        options=candidate.options,
        max_tokens=tokens,
    )


def _means(reply: str, candidate: Candidate) -> bool:
    """Whether a free answer is the right option: it holds it, or is most like it and alike enough."""
    if within(candidate.answer, reply):
        return True
    likeness = [
        SequenceMatcher(None, plain(reply), plain(option), autojunk=False).ratio()
        for option in candidate.options
    ]
    best = max(likeness)
    return best >= ALIKE and likeness[candidate.truth] == best
