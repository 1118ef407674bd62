"""The most requests of a build: those without any rejected candidate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from equiview.build.knowrecall import prompts
from equiview.build.knowrecall.candidates import Candidate
from equiview.build.knowrecall.settings import KnowRecallSettings
from equiview.build.landmarks import Landmark
from equiview.data.requests import Plan, Request

WORDS = "a question of the usual length about what is to be seen in the picture, or an option "
QUESTION, OPTION = WORDS, "a usual option"


def plans(
    landmarks: Sequence[Landmark],
    articles: Mapping[str, str],
    names: Mapping[str, str],
    settings: KnowRecallSettings,
) -> list[Plan]:
    """A plan for each step; `names` are the models by purpose."""
    candidates = settings.candidates
    usual = [
        Candidate(f"{landmark.id}-{number}", landmark, articles[landmark.id], row, QUESTION, (OPTION,) * 4, 0)
        for row, landmark in enumerate(landmarks)
        for number in range(candidates)
    ]
    kept = [c for place in range(min(settings.keep, candidates)) for c in usual[place::candidates]]
    others = [language for language in settings.languages if language != "en"]
    pairs = [(c, language) for c in kept for language in others]
    wording = (QUESTION, (OPTION,) * 4, OPTION)

    def planned(
        model: str, purpose: str, texts: Sequence[str], tokens: int, *, picture: bool = False
    ) -> Plan:
        requests = [Request(str(n), text, "en", 0 if picture else None) for n, text in enumerate(texts)]
        return Plan.of(names[model], purpose, requests, tokens, usual=True)

    return [
        planned("writer", "write", [prompts.write(articles[p.id], candidates) for p in landmarks],
                80 * candidates, picture=True),
        planned("checker", "without options", [prompts.recall(c) for c in usual], 10),
        planned("checker", "without picture", [prompts.choose(c) for c in usual] * settings.turns, 2),
        planned("checker", "judged", [prompts.judge(c) for c in usual], 40, picture=True),
        planned("translator", "translate", [prompts.translate(*pair) for pair in pairs], 120),
        planned("back_translator", "translate back",
                [prompts.translate_back(*wording, language) for _, language in pairs], 80),
        planned("checker", "compare", [prompts.same_meaning(c, *wording[:2]) for c, _ in pairs], 20),
    ]  # fmt: skip
