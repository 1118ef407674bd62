"""The first step: questions about each place from its article, and the rules that words must satisfy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from equiview.build.history import History
from equiview.build.knowrecall import prompts
from equiview.build.knowrecall.candidates import Candidate, read_question
from equiview.build.knowrecall.rules import broken_rule, plain, repeats
from equiview.build.landmarks import Landmark
from equiview.build.step import Step
from equiview.data.items import Items
from equiview.data.requests import Request
from equiview.text.replies import json_in


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
            question = read_question(content)
            if question is None:
                step.note(name, "the question cannot be read", str(content))
                continue
            text, options, answer = question
            places = [place for place, option in enumerate(options) if plain(option) == plain(answer)]
            if not places:
                step.note(name, "the answer is not among the options", str(content))
                continue
            step.note(name, "", str(content))
            candidate = Candidate(name, landmark, articles[landmark.id], row, text, options, places[0])
            candidates.append(candidate.shuffled(seed, 0))
    return candidates


def keep_rules(candidates: Sequence[Candidate], history: History) -> list[Candidate]:
    """The candidates that break no rule and repeat no earlier one."""
    left: list[Candidate] = []
    for candidate in candidates:
        broken = broken_rule(candidate)
        if broken is None and (other := repeats(candidate, left)) is not None:
            broken = "it repeats another question", other.question
        if history.note(candidate.id, "rules", *(broken or ())):
            left.append(candidate)
    return left
