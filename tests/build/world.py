"""A small world for builders: three places, and a model that knows what is said of them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from equiview.data.items import Items
from equiview.data.requests import Reply, Request
from equiview.io.progress import Progress
from equiview.subjects import Answerer

PLACES = {
    "t1": ("fr", "Iron Tower", "Gustave"),
    "t2": ("ja", "Red Pagoda", "Shotoku"),
    "t3": ("fr", "Stone Bridge", "Perronet"),
}
ARTICLE = """{name} was built by {builder}. It was opened with a fair called Lumiere.
People eat Crepe there. Its guild is Coopers. On Sundays the band plays Marche."""
OPTIONS = {
    "Lumiere": ["Lumiere", "Aurora", "Meridian", "Zenith"],
    "Crepe": ["Crepe", "Waffle", "Pancake", "Blini"],
    "Coopers": ["Coopers", "Tanners", "Smiths", "Bakers"],
    "Marche": ["Marche", "Valse", "Polka", "Gigue"],
}


def question(text: str, answer: str, options: Sequence[str] | None = None) -> dict[str, object]:
    """A question as a writer writes it."""
    return {"question": text, "answer": answer, "options": list(options or OPTIONS[answer])}


TASKS = {
    "multiple-choice questions about": "write",
    "Reply with the answer alone": "recall",
    "You cannot see the picture": "choose",
    '"about_the_picture"': "judge",
    "from English into": "translate",
    "into English": "back",
    '"same_question"': "same",
}
"""What is asked, by words that only its prompt has."""
AROUND = {
    "fr": (
        "Voici une question sur ce que montre la photographie : ",
        " Que faut-il donc y répondre, selon vous ?",
    ),
    "ja": ("この写真に写っている建物についての質問です。", "この質問にはどのように答えればよいでしょうか。"),
}
"""What makes an English question one in another language, as far as a detector can tell."""
GOOD = question("With which fair was the tower in the picture opened?", "Lumiere")
SECOND = question("What do people eat at the building shown?", "Crepe")
THIRD = question("Which guild owns the place in the picture?", "Coopers")


def landmarks(folder: Path, places: Sequence[str] = tuple(PLACES)) -> Path:
    """Write the input of the builders, with a picture each."""
    rows = ["landmark_id,language,name,aliases,title_en,title_fr,title_ja"]
    for name in places:
        language, title, builder = PLACES[name]
        rows.append(
            f"{name},{language},{title},The {name} thing;Old One,{title},Le {title},{title}の塔 (東京)"
        )
        (folder / "articles").mkdir(parents=True, exist_ok=True)
        (folder / "articles" / f"{name}.txt").write_text(ARTICLE.format(name=title, builder=builder))
        picture(folder / "images" / name / "1.png", sum(map(ord, name)))
    (folder / "landmarks.csv").write_text("\n".join(rows), encoding="utf-8")
    return folder


def picture(path: Path, seed: int, side: int = 240) -> None:
    """A picture unlike those of other seeds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(0, 256, (8, 9, 3), dtype=np.uint8)
    Image.fromarray(pixels).resize((side, side), Image.Resampling.NEAREST).save(path)


class World(Answerer):
    """A model that does all of a builder's work; `written` is what it writes about every place.

    `guessed` are answers that it knows without the picture, `unclear` ones it does not give without options,
    `seen` ones that the picture shows. `botched` maps (language, answer) to the attempts at translating that
    fail. It counts what it is asked, by step.
    """

    def __init__(self, written: Sequence[object], **known: object) -> None:
        super().__init__()
        self.written = {name: list(written) for name in PLACES} if not isinstance(written, dict) else written
        self.guessed: set[str] = set(known.get("guessed", ()))  # type: ignore[call-overload]
        self.unclear: set[str] = set(known.get("unclear", ()))  # type: ignore[call-overload]
        self.seen: set[str] = set(known.get("seen", ()))  # type: ignore[call-overload]
        self.botched: dict[tuple[str, str], int] = dict(known.get("botched", {}))  # type: ignore[call-overload]
        self.unlike: set[str] = set(known.get("unlike", ()))  # type: ignore[call-overload]
        self.astray: set[str] = set()
        """Answers whose questions stay in English where French was asked for."""
        self.asked: Counter[str] = Counter()

    def replies(
        self, requests: Sequence[Request], images: Items | None, progress: Progress
    ) -> Iterator[tuple[int, Reply]]:
        """Answers come last first, as they may."""
        for place in reversed(range(len(requests))):
            yield place, Reply(self.reply(requests[place]))

    def reply(self, request: Request) -> str:
        """From the words alone, as a real model; only pictures are known by the request's id."""
        return self._shows(request) if request.id.endswith(":shows") else self.said(request.prompt)

    def said(self, prompt: str) -> str:
        """The reply to a prompt."""
        task = next(task for words, task in TASKS.items() if words in prompt)
        self.asked[task] += 1
        return str(getattr(self, f"_{task}")(prompt))

    def _answer(self, prompt: str) -> str:
        """The right answer to the question in a prompt."""
        listed = [entry for entries in self.written.values() for entry in entries if isinstance(entry, dict)]
        return next(str(entry["answer"]) for entry in listed if str(entry["question"]) in prompt)

    def _write(self, prompt: str) -> str:
        place = next(name for name, (_, title, _) in PLACES.items() if f"{title} was built" in prompt)
        return f"Here they are:\n```json\n{json.dumps(self.written[place])}\n```"

    def _recall(self, prompt: str) -> str:
        answer = self._answer(prompt)
        return "It is hard to say." if answer in self.unclear else f"{answer}."

    def _choose(self, prompt: str) -> str:
        answer = self._answer(prompt)
        options = re.findall(r"^[A-D]\. (.*)$", prompt, re.MULTILINE)
        place = options.index(answer)
        return "ABCD"[place if answer in self.guessed else (place + 1) % 4]

    def _judge(self, prompt: str) -> str:
        seen = self._answer(prompt) in self.seen
        return json.dumps({"about_the_picture": True, "picture_is_enough": seen, "cultural": True})

    def _translate(self, prompt: str) -> str:
        content = json.loads(_object_in(prompt))
        language = "ja" if "into Japanese" in prompt else "fr"
        left = self.botched.get((language, content["answer"]), 0)
        self.botched[language, content["answer"]] = left - 1
        mark = {"ja": "語", "fr": "le"}[language] if left <= 0 else "Слово"
        before, after = AROUND[language] if left <= 0 else ("Слово ", "")
        if language == "fr" and content["answer"] in self.astray:
            before = after = ""
        return json.dumps(
            {
                "question": f"{before}{content['question']}{after}",
                "answer": f"{mark} {content['answer']}",
                "options": [f"{mark} {option}" for option in content["options"]],
            },
            ensure_ascii=False,
        )

    def _back(self, prompt: str) -> str:
        text = _object_in(prompt)
        for around in (part for parts in AROUND.values() for part in parts):
            text = text.replace(around, "")
        return re.sub(r'"(語|le) ', '"', text)

    def _same(self, prompt: str) -> str:
        unlike = any(answer in prompt for answer in self.unlike)
        return json.dumps({"same_question": True, "same_options": not unlike})

    def _shows(self, request: Request) -> str:
        name = request.id.removesuffix(":shows")
        return json.dumps({"shows_the_place": name not in self.unlike, "from_outside": name not in self.seen})


def _object_in(prompt: str) -> str:
    """The question that a prompt holds as JSON."""
    return prompt[prompt.index("{") : prompt.rindex("}\n") + 1]
