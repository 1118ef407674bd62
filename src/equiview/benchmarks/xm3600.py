"""`xm3600:DIR`: Crossmodal-3600, 3,600 images with captions in 36 languages (Thapliyal et al., EMNLP 2022).

`captions.jsonl` and the images in `images/KEY.jpg`. All captions of all languages, about 261,000, are texts
of one pool; text `KEY-LANG-N` is the N-th caption (from 1) of image KEY in language LANG.

`equiview build xm3600` writes the same, with a field `caption/translated_by` beside `caption` where a model
has translated: its name for each caption. Texts then have `translated_by`, null for those of people.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from equiview.benchmarks.base import Benchmark
from equiview.benchmarks.release import (
    Release,
    image_items,
    text_field,
    text_items,
    texts_field,
)
from equiview.data.items import Items
from equiview.data.languages import languages
from equiview.errors import InputError
from equiview.io.files import read_json_lines

XM3600 = Release(
    name="xm3600",
    title="Crossmodal-3600",
    licence="annotations CC BY 4.0, images CC BY 2.0",
    needs=(("captions.jsonl", "*/captions.jsonl"),),
)
IMAGES, LANGUAGES = 3600, 36
TRANSLATED_BY = "caption/translated_by"


def xm3600(argument: str) -> Benchmark:
    """Read the release; images have the attribute `locale`, texts have `image_id` and `slot`."""
    place, _ = XM3600.open(argument)
    path = XM3600.find(place)
    translators: dict[str, str] = {}
    entries = list(_entries(path, translators))
    names = {key: f"{key}.jpg" for key, _, _ in entries}
    locales = {"locale": [locale for _, locale, _ in entries]}
    images = image_items(place, names, ("images", ".", "images/images"), path, locales)
    rows = (
        (key, code, text, slot)
        for key, _, captions in entries
        for code, strings in captions.items()
        for slot, text in enumerate(strings, start=1)
    )
    texts = text_items(rows, path)
    if translators:
        by = texts.ids.replace_strict(translators, default=None, return_dtype=pl.String)
        texts = Items("text", texts.table.with_columns(translated_by=by), texts.source)
    return pool_of(images, texts)


def pool_of(images: Items, texts: Items) -> Benchmark:
    """The benchmark of images and the captions of all of them, wherever they were read."""
    n_languages = texts.table["language"].n_unique()
    part = "" if (len(images), n_languages) == (IMAGES, LANGUAGES) else ", a part of the release"
    about = f"{len(images):,} images, {len(texts):,} captions in {n_languages} languages{part}"
    return XM3600.benchmark(images, texts, about=about)


def _entries(path: Path, translators: dict[str, str]) -> Iterator[tuple[str, str, dict[str, list[str]]]]:
    """(key, locale, captions by language) of each line; adds to `translators` those of texts, by id."""
    # The release writes Hebrew by its older code.
    codes = {code: code for code in languages()["code"]} | {"iw": "he"}
    keys: set[str] = set()
    for row, content in read_json_lines(path):
        where = f"{path}, line {row}"
        captions = {
            code: texts_field(content[name], "caption", f"{where}, {name}")
            for name, code in codes.items()
            if name in content
        }
        if not captions:
            raise InputError(f"{where}: has captions in none of the 36 languages")
        key, locale = text_field(content, "image/key", where), text_field(content, "image/locale", where)
        if key in keys:
            raise InputError(f"{where}: image {key!r} is repeated")
        keys.add(key)
        for name, code in codes.items():
            if name in content and TRANSLATED_BY in content[name]:
                models = texts_field(content[name], TRANSLATED_BY, f"{where}, {name}")
                if len(models) != len(captions[code]):
                    raise InputError(
                        f"{where}, {name}: {len(captions[code])} captions, but {TRANSLATED_BY} names "
                        f"{len(models)} models"
                    )
                numbered = enumerate(models, start=1)
                translators.update((f"{key}-{code}-{slot}", model) for slot, model in numbered)
        yield key, locale, captions
