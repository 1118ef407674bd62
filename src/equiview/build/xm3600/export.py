"""The pool on disk: Crossmodal-3600's `captions.jsonl`, which says of each caption who translated it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from equiview.benchmarks.xm3600 import TRANSLATED_BY
from equiview.build.xm3600.captions import Captions, Missing

UNKNOWN = "und"
"""ISO 639's code of a language that is not known, where nothing says where an image is from."""


def lines(
    captions: Captions,
    translated: Sequence[Missing],
    texts: Mapping[str, str],
    translator: str,
    locales: Mapping[str, str | None],
) -> Iterator[str]:
    """A line for each image: captions of people, then `translated` ones with their `texts` by id.

    A caption keeps its number where one before it was rejected, whose place is left blank.
    """
    added: dict[str, list[Missing]] = {}
    for missing in translated:
        added.setdefault(missing.image, []).append(missing)
    for image, of_image in captions.items():
        entry: dict[str, Any] = {"image/key": image, "image/locale": locales.get(image) or UNKNOWN}
        for language, known in of_image.items():
            entry[language] = {"caption": [caption.text for caption in known]}
        for missing in added.get(image, ()):
            slots = entry.setdefault(missing.language, {"caption": [], TRANSLATED_BY: []})
            blank = missing.slot - 1 - len(slots["caption"])
            slots["caption"] += [""] * blank + [texts[missing.id]]
            slots[TRANSLATED_BY] += [translator] * (blank + 1)
        yield json.dumps(entry, ensure_ascii=False)
