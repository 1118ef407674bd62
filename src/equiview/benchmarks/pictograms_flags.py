"""`pictograms-flags`: the embedded benchmark of memory, flags of 241 places named in 15 languages.

A landmark is a flag; its region is the language of the place. The drawings are those that come with Noto
Emoji, from which no embedded encoder learnt; the names are those of Unicode CLDR. What Unicode has a flag for
is shown as such, and nothing is said of its standing.
"""

from __future__ import annotations

import polars as pl

from equiview.benchmarks.base import Benchmark
from equiview.benchmarks.landmarks import APPEARANCE_PROMPTS, LANDMARKS, NAMES
from equiview.benchmarks.pictograms import shipped_table
from equiview.data.items import Items

ASKED = {
    "en": "What does this flag look like: {landmark_name}? Name its colours, its shapes and what it shows.",
    "de": "Wie sieht diese Flagge aus: {landmark_name}? Nenne ihre Farben, ihre Formen und was sie zeigt.",
    "zh": "这面旗帜是什么样子：{landmark_name}？请说出它的颜色、形状和上面画的东西。",
    "ja": "この旗はどのような見た目ですか：{landmark_name}。色、形、描かれているものを挙げてください。",
    "es": "¿Cómo es esta bandera: {landmark_name}? Di sus colores, sus formas y lo que muestra.",
    "fr": "À quoi ressemble ce drapeau : {landmark_name} ? Dis ses couleurs, ses formes et ce qu'il montre.",
    "pt": "Como é esta bandeira: {landmark_name}? Diga as cores, as formas e o que está desenhado nela.",
    "ar": "كيف يبدو هذا العلم: {landmark_name}؟ اذكر ألوانه وأشكاله وما رُسم عليه.",
    "th": "ธงนี้มีลักษณะอย่างไร: {landmark_name} จงบอกสี รูปทรง และสิ่งที่วาดอยู่บนธง",
    "hi": "यह झंडा कैसा दिखता है: {landmark_name}? इसके रंग, आकार और इस पर बनी चीज़ें बताइए।",
    "sw": "Bendera hii inaonekanaje: {landmark_name}? Taja rangi zake, maumbo yake na kinachoonekana.",
    "ru": "Как выглядит этот флаг: {landmark_name}? Назови его цвета, формы и то, что на нём нарисовано.",
    "ko": "이 깃발은 어떻게 생겼습니까: {landmark_name}? 색깔과 모양, 그려진 것을 말해 주세요.",
    "bn": "এই পতাকাটি দেখতে কেমন: {landmark_name}? এর রং, আকৃতি এবং এতে যা আঁকা আছে তা বলুন।",
    "te": "ఈ జెండా ఎలా ఉంటుంది: {landmark_name}? దాని రంగులు, ఆకారాలు, దానిపై గీసినవి చెప్పండి.",
}  # fmt: skip
"""What is asked in each language, written for this project; no native speaker has checked it."""


def pictograms_flags(argument: str = "") -> Benchmark:
    """The embedded benchmark of memory; it takes no argument.

    Images have `landmark_id`, the place's code of ISO 3166.

    >>> flags = pictograms_flags()
    >>> flags.tables["names"].filter(landmark_id="KE", language="fr")["name"].item()
    'Kenya'
    >>> flags.tables["landmarks"].row(by_predicate=pl.col("landmark_id") == "KE")
    ('KE', 'sw')
    """
    drawn = shipped_table("places")
    images = drawn.select(id="code", picture="picture", landmark_id="code")
    named = shipped_table("place_names").rename({"code": "landmark_id", "text": "name"})
    return Benchmark(
        name="pictograms-flags",
        images=Items("image", images, "pictograms-flags: drawings"),
        about=f"flags of {len(drawn)} places by one artist, named in {len(ASKED)} languages",
        source="drawings: region-flags of Noto Emoji (asturur-noto-emoji 3.0.3); names: Unicode CLDR "
        "(babel 2.18.0)",
        licence="drawings public domain or exempt from copyright, names Unicode-3.0",
        tables={
            "landmarks": drawn.select(landmark_id="code", region="region"),
            "names": named,
            "appearance_prompts": pl.DataFrame({"language": list(ASKED), "text": list(ASKED.values())}),
        },
        schemas={"landmarks": LANDMARKS, "names": NAMES, "appearance_prompts": APPEARANCE_PROMPTS},
    )
