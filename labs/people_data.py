"""Write the tables of `pictograms-people`: `python labs/people_data.py`.

Drawings are Noto's alone, as in pictograms_data.py. Names are CLDR's own: a name that a language lacks is
missing, and nothing is composed here.
"""

from __future__ import annotations

import unicodedata
from functools import cache

from concepts import CLDR_CODES, equiview_languages
from people import english, neutral, people, roles
from pictograms_data import SIDE, webp, write
from sources import annotations, fetch, noto


def main() -> None:
    fetch()
    role_names = {role: english(neutral(role)).removeprefix("person ") for role in roles()}
    write(
        "people",
        {
            "image_id": [f"noto-{person.concept}" for person in people()],
            "concept": [person.concept for person in people()],
            "role": [role_names[person.role] for person in people()],
            "gender": [person.gender for person in people()],
            "skin": [person.skin for person in people()],
            "picture": [webp(noto(person.concept, SIDE)) for person in people()],
        },
    )
    rows = [
        (person.concept, code, name)
        for code in equiview_languages()
        for person in people()
        if (name := person_name(person.concept, code))
    ]
    columns = ("concept", "language", "text")
    write("people_names", dict(zip(columns, zip(*rows, strict=True), strict=True)))
    whole = len(people()) * len(equiview_languages())
    print(f"{whole - len(rows):,} of {whole:,} names are missing")


@cache
def person_name(concept: str, language: str) -> str | None:
    """CLDR's short name in normal form C, or None where the language has none."""
    entry = annotations(CLDR_CODES.get(language, language)).get(concept, {})
    return unicodedata.normalize("NFC", entry["tts"][0]) if entry.get("tts") else None


if __name__ == "__main__":
    main()
