"""A user's captions, and which are to be translated from which."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from equiview.benchmarks.base import same_image
from equiview.benchmarks.folder import read_images, read_texts
from equiview.build.history import History
from equiview.data.items import Items
from equiview.data.languages import languages
from equiview.errors import InputError


@dataclass(frozen=True)
class Slot:
    """The place of a caption in the pool; `slot` counts an image's captions of a language from 1."""

    image: str
    language: str
    slot: int

    @property
    def id(self) -> str:
        """The id of the text there."""
        return f"{self.image}-{self.language}-{self.slot}"


@dataclass(frozen=True)
class Caption(Slot):
    """A caption that people wrote."""

    text: str


@dataclass(frozen=True)
class Missing(Slot):
    """A place where there is no caption, and the one that is translated into it."""

    original: Caption


Captions = dict[str, dict[str, list[Caption]]]
"""Captions of people by image and language."""


def read_pool(place: Path) -> tuple[Items, Items]:
    """The images and captions of a folder; InputError for ids that name no file, and captions of no image."""
    images, texts = read_images(place), read_texts(place)
    for row, name in enumerate(images.ids, start=1):
        if not re.fullmatch(r"[\w.-]+", name) or set(name) <= {"."}:
            raise InputError(
                f"{images.source}: column 'id', row {row}: {name!r} names a file; it may hold letters, "
                "digits, '.', '_' and '-' only"
            )
    same_image(images, texts)
    return images, texts


def captions_in(images: Items, texts: Items, history: History) -> Captions:
    """The captions of each image in languages of the layout; others, and images without any, are noted."""
    known = set(languages()["code"])
    captions: Captions = {name: {} for name in images.ids}
    for name, text, language, image in texts.table.select("id", "text", "language", "image_id").iter_rows():
        if language not in known:
            history.note(name, "read", "its language is none of the 36 of the layout", language)
            continue
        of_language = captions[image].setdefault(language, [])
        of_language.append(Caption(image, language, len(of_language) + 1, text))
    for image in [image for image, of_image in captions.items() if not of_image]:
        history.note(image, "read", "it has no caption in a language of the layout")
        del captions[image]
    return captions


def missing_in(captions: Captions, wanted: tuple[str, ...], source: str, most: int) -> Iterator[Missing]:
    """What each image lacks of the wanted languages, up to `most` captions in each.

    They are translated from `source` where the image has it, else from its language most written on the web.
    """
    by_share = languages()["code"].to_list()
    for image, of_image in captions.items():
        original = source if source in of_image else min(of_image, key=by_share.index)
        for language in wanted:
            if language not in of_image:
                for caption in of_image[original][:most]:
                    yield Missing(image, language, caption.slot, caption)
