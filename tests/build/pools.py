"""Captions of three images in three languages, and a model that translates them."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import polars as pl

from tests.build.world import picture

WORDS = {
    "fr": "Un chien noir dort devant la porte de la maison, photo {}",
    "de": "Ein schwarzer Hund schläft vor der Tür des Hauses, Bild {}",
    "en": "A black dog sleeps in front of the door of the house, photo {}",
}
"""Captions that a detector knows the language of, by their number."""


def pool(folder: Path) -> Path:
    """Three images: two with English captions, of which one has a German one; one with French alone."""
    place = folder / "in"
    captions = [("a", "en"), ("a", "en"), ("b", "en"), ("b", "de"), ("c", "fr")]
    rows = [
        (f"t{row}", WORDS[language].format(row), language, image)
        for row, (image, language) in enumerate(captions)
    ]
    for seed, name in enumerate("abc"):
        picture(place / f"{name}.png", seed)
    images = {"id": list("abc"), "path": [f"{name}.png" for name in "abc"]}
    pl.DataFrame(images).write_csv(place / "images.csv")
    pl.DataFrame(rows, schema=["id", "text", "language", "image_id"], orient="row").write_csv(
        place / "texts.csv"
    )
    return place


class Speaker:
    """A model that translates and compares; `wrong` maps a language to what it first says in its place."""

    def __init__(self, **wrong: str) -> None:
        self.wrong, self.asked = wrong, Counter[str]()

    def __call__(self, prompt: str, _pictures: object = None, _model: object = None) -> str:
        if "and its translation" in prompt:
            self.asked["compare"] += 1
            return json.dumps({"same_meaning": "strange" not in prompt, "natural": True})
        self.asked["translate"] += 1
        language = {"French": "fr", "German": "de", "English": "en"}[re.search(r" into (\w+)\.", prompt)[1]]  # type: ignore[index]
        number = re.search(r'(\d+)"}', prompt)[1]  # type: ignore[index]
        first = "An earlier translation" not in prompt
        said = self.wrong[language] if first and language in self.wrong else WORDS[language].format(number)
        return json.dumps({"caption": said})
