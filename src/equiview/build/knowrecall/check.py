"""The steps in English: questions are written and checked (T, appendix H.1, and checks of equiview)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher

from equiview.audits.knowledge.reading import read_answer
from equiview.build.knowrecall import prompts
from equiview.build.knowrecall.candidates import Candidate, read_question
from equiview.build.knowrecall.rules import plain, within
from equiview.build.landmarks import Landmark
from equiview.build.step import Step, fault_in
from equiview.data.items import Items
from equiview.data.requests import Request
from equiview.text.replies import json_in

ALIKE = 0.7
"""Similarity from which an answer means an option, as in T's reading of answers."""
UNANSWERED = "it cannot be answered without options"
FLAGS = {
    "about_the_picture": (True, "the question is not about the picture"),
    "picture_is_enough": (False, "the picture alone answers it"),
    "cultural": (True, "the question is not about culture or history"),
}


def write(
    step: Step,
    landmarks: Sequence[Landmark],
    articles: Mapping[str, str],
    images: Items,
    *,
    count: int,
    seed: int,
) -> list[Candidate]:
    """Up to `count` candidates for each place, those that can be read; row i of `images` is of place i."""
    requests = [
        Request(
            f"{landmark.id}:write", prompts.write(articles[landmark.id], count), "en", row, max_tokens=2048
        )
        for row, landmark in enumerate(landmarks)
    ]
    candidates = []
    for row, (landmark, reply) in enumerate(zip(landmarks, step.ask(requests, images), strict=True)):
        contents = json_in(reply)
        listed = contents if isinstance(contents, list) else []
        if not listed:
            step.note(landmark.id, "the reply holds no list of questions", reply)
        for number, content in enumerate(listed[:count], start=1):
            name = f"{landmark.id}-{number}"
            wording = read_question(content)
            right = plain(wording.answer) if wording else ""
            places = (
                [at for at, option in enumerate(wording.options) if plain(option) == right] if wording else []
            )
            reason = "the answer is not among the options" if wording else "the question cannot be read"
            if step.note(name, "" if places else reason, str(content)) and wording:
                article = articles[landmark.id]
                candidate = Candidate(
                    name, landmark, article, row, wording.question, wording.options, places[0]
                )
                candidates.append(candidate.shuffled(seed, 0))
    return candidates


def without_options(step: Step, candidates: Sequence[Candidate]) -> list[Candidate]:
    """The questions that a model answers from the article without seeing the options."""
    replies = step.ask([_request(c, f"{c.id}:open", prompts.recall(c), 64) for c in candidates])
    return [
        candidate
        for candidate, reply in zip(candidates, replies, strict=True)
        if step.note(candidate.id, "" if _means(reply, candidate) else UNANSWERED, reply)
    ]


def without_picture(step: Step, candidates: Sequence[Candidate], *, turns: int, seed: int) -> list[Candidate]:
    """The questions that a model without picture and article gets wrong in at least one order of options.

    By guessing, one of `4 ** turns` questions is right in all orders.
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
    """The questions that need the picture and are about culture, as judged by a model that sees it."""
    requests = [_request(c, f"{c.id}:judge", prompts.judge(c), 128, picture=True) for c in candidates]
    left = []
    for candidate, reply in zip(candidates, step.ask(requests, images), strict=True):
        if step.note(candidate.id, fault_in(reply, FLAGS), reply):
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
    """Whether a free answer contains the right option, or is most similar to it and similar enough."""
    if within(candidate.answer, reply):
        return True
    likeness = [
        SequenceMatcher(None, plain(reply), plain(option), autojunk=False).ratio()
        for option in candidate.options
    ]
    best = max(likeness)
    return best >= ALIKE and likeness[candidate.truth] == best
