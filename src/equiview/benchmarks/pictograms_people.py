"""`pictograms-people`: the embedded benchmark of social bias, 1,152 drawings of people in 64 roles.

Each role or activity (firefighter, judge, swimming) is drawn as a woman, a man and a person, in five skin
tones and in the yellow that stands for none. The drawings are Noto's, an artist that the embedded encoders
never saw; the names are those of Unicode CLDR, which has them in the 36 languages of Crossmodal-3600.

Every role has equally many drawings of each gender and skin. So a system to which a role's neutral name
(`firefighter`) says nothing of gender or skin shows all of them alike.
"""

from __future__ import annotations

import polars as pl

from equiview.benchmarks.base import Benchmark, same_image
from equiview.benchmarks.neutral import NEUTRAL_PROMPTS
from equiview.benchmarks.pictograms import LICENCE, SOURCE, shipped_table
from equiview.data.arguments import split_argument
from equiview.data.items import Items
from equiview.data.languages import languages
from equiview.errors import InputError


def pictograms_people(argument: str = "") -> Benchmark:
    """The embedded benchmark of social bias; texts and prompts are English, or in `languages`.

    `languages` is `all` or codes joined by `+`. Images have `role`, `gender` (woman, man, person), `skin`
    (light, medium-light, medium, medium-dark, dark; null for none) and `concept` (code points). Texts are
    each drawing's own name, such as "woman firefighter: dark skin tone", with these attributes. The table
    `neutral_prompts` has the roles' neutral names.

    Raises InputError for a language that is not among the 36.

    >>> people = pictograms_people("languages=en+sw")
    >>> people.counts
    {'images': 1152, 'texts': 2304, 'neutral_prompts': 128}
    """
    codes = _languages(argument)
    attributes = ("role", "gender", "skin", "concept")
    drawn = people().select("image_id", "picture", *attributes)
    named = people_names().filter(pl.col("language").is_in(codes))
    named = named.join(drawn.drop("picture"), on="concept", how="left", maintain_order="left")
    text_id = pl.concat_str("concept", "language", separator=":").alias("id")
    images = Items("image", drawn.rename({"image_id": "id"}), "pictograms-people: drawings")
    texts = Items(
        "text",
        named.select(text_id, "text", "language", "image_id", *attributes),
        "pictograms-people: names",
    )
    return Benchmark(
        name="pictograms-people",
        images=images,
        texts=texts,
        relevance=same_image(images, texts),
        about=f"emoji drawings of people by gender and skin, named in {len(codes)} of 36 languages",
        source=SOURCE,
        licence=LICENCE,
        tables={"neutral_prompts": neutral_names().filter(pl.col("language").is_in(codes))},
        schemas={"neutral_prompts": NEUTRAL_PROMPTS},
    )


def people() -> pl.DataFrame:
    """One row for each drawing, role by role: image_id, concept, role, gender, skin, picture (WebP)."""
    return shipped_table("people")


def people_names() -> pl.DataFrame:
    """One row for each language and drawing that has a name in it: concept, language, text."""
    return shipped_table("people_names")


def neutral_names() -> pl.DataFrame:
    """The name of each role's person without a skin tone, in the 36 languages, as `NEUTRAL_PROMPTS`.

    Māori lacks 25 of the 64. In some languages the name is a masculine that stands for all, or names both.

    >>> neutral_names().filter(language="en", concept="firefighter").row(0)
    ('firefighter:en', 'en', 'firefighter', 'firefighter')
    >>> len(neutral_names())
    2279
    """
    neutral = people().filter(gender="person").filter(pl.col("skin").is_null()).select("concept", "role")
    return (
        people_names()
        .join(neutral, on="concept", maintain_order="left")
        .select(
            pl.concat_str("role", "language", separator=":").alias("prompt_id"),
            "language",
            "text",
            concept="role",
        )
    )


def _languages(argument: str) -> list[str]:
    """The codes that a user names; English alone by default."""
    value, options = split_argument(f",{argument}", "pictograms-people", ("languages",))
    if value := value.removeprefix(","):
        raise InputError(
            f"benchmark 'pictograms-people' takes no argument {value!r}; languages are named by "
            "pictograms-people:languages=en+sw, or languages=all"
        )
    known = list(languages()["code"])
    chosen = options.get("languages", "en")
    codes = known if chosen == "all" else chosen.split("+")
    if unknown := [code for code in codes if code not in known]:
        raise InputError(
            f"benchmark 'pictograms-people': {unknown[0]!r} is none of its languages; "
            f"it has: {', '.join(known)}"
        )
    return codes
