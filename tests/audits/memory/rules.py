"""A small world of landmarks that are pictograms, and models of a few rules that describe and translate them.

A landmark is a concept, its pictures its drawing, its names those of CLDR. `Describer` knows some landmarks
in some languages alone; of what it does not know it says something else.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from equiview.benchmarks.pictograms import drawings, names
from equiview.data.requests import Reply
from equiview.subjects import Answerer
from tests.benchmarks.layouts import data

LANGUAGES = ("en", "de", "ar")
BEFORE = {
    "en": "This is what it looks like: ",
    "de": "So sieht es von außen aus, wenn man davorsteht: ",
    "ar": "هكذا يبدو من الخارج عندما تقف أمامه: ",
}
WRONG = {"en": "nothing", "de": "nichts", "ar": "لا شيء"}


def write(place: Path, n: int = 12, languages: Sequence[str] = LANGUAGES) -> Path:
    """`n` pictograms in VisRecall's layout, their regions German, Arabic and English in turn."""
    concepts = drawings()[:: len(drawings()) // n].head(n)
    called = {(row["concept"], row["language"]): row["text"] for row in names().iter_rows(named=True)}
    landmarks, pictures = [], {}
    for number, row in enumerate(concepts.iter_rows(named=True)):
        titles = {f"wikipedia_{code}": called[row["concept"], code].replace(" ", "_") for code in languages}
        region = ("de", "ar", "en")[number % 3]
        landmarks.append({"landmark_id": number, "domestic_language_code": region, **titles})
        pictures[str(number)] = [f"{row['concept']}.webp"]
        path = place / "images" / str(number) / f"{row['concept']}.webp"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(row["picture"])
    data(place / "landmark_list.json", landmarks)
    data(place / "image_list.json", pictures)
    return place


def english_names(place: Path) -> dict[str, str]:
    """What each landmark is called in English."""
    landmarks = json.loads((place / "landmark_list.json").read_text())
    return {str(row["landmark_id"]): row["wikipedia_en"].replace("_", " ") for row in landmarks}


class Describer(Answerer):
    """Says the landmark's name in its language, and of every third landmark in Arabic only `nothing`.

    Its argument names other ways: `english` answers everything in English, `refuses` refuses in German,
    `empty` says nothing in German, `cut` is cut off in German.
    """

    def replies(self, requests, images, progress) -> Iterator[tuple[int, Reply]]:
        assert images is None
        for place, request in enumerate(requests):
            yield place, self.reply(request)

    def reply(self, request) -> Reply:
        landmark, language, _ = request.id.split(":")
        german = language == "de"
        if self.argument == "refuses" and german:
            return Reply("Ich kann keine Orte beschreiben.")
        if self.argument == "filtered" and german:
            return Reply("", stopped="refused")
        if self.argument == "empty" and german:
            return Reply("")
        if self.argument == "english":
            return Reply(BEFORE["en"] + "a picture of nothing at all that could be said")
        known = language != "ar" or int(landmark) % 3
        text = BEFORE[language] + (request.question if known else WRONG[language])
        return Reply(text, stopped="length" if self.argument == "cut" and german else "stop")


class Translator(Answerer):
    """Translates what `Describer` says, from the folder that its argument names; `loses` fails for German."""

    def replies(self, requests, images, progress) -> Iterator[tuple[int, Reply]]:
        folder, _, way = self.argument.partition("|")
        known = english_names(Path(folder))
        for place, request in enumerate(requests):
            landmark, language, _ = request.id.split(":")
            wrong = request.question.endswith(WRONG[language])
            text = BEFORE["en"] + ("nothing" if wrong else known[landmark])
            if way == "loses" and language == "de":
                yield place, Reply("I have no idea.")
            elif way == "short":
                yield place, Reply(json.dumps({"translation": "nothing" if wrong else known[landmark]}))
            else:
                yield place, Reply(f"```json\n{json.dumps({'translation': text})}\n```")


class Released(Answerer):
    """Predictions in a file of the released layout: `{landmark_id: {language: [prompt 0, prompt 1]}}`."""

    def replies(self, requests, images, progress) -> Iterator[tuple[int, Reply]]:
        content = json.loads(Path(self.argument).read_text())
        for place, request in enumerate(requests):
            landmark, language, prompt = request.id.split(":")
            yield place, Reply(content[landmark][language][int(prompt)])


class Mute(Answerer):
    """Fails for good."""

    def replies(self, requests, images, progress) -> Iterator[tuple[int, Reply]]:
        yield 0, Reply("one")
