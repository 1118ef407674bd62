"""One image at a time: which classes can be removed, the pictures without them, and their captions."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from PIL import Image

from equiview.build.removal.areas import grown, mask_of
from equiview.build.removal.captions import Phrases, naming, phrases_naming, prompted, rewritten, without
from equiview.build.removal.edits import NO_WORDS, Editor, Refused, edited
from equiview.build.removal.fill import Filling
from equiview.build.removal.masks import runs_of
from equiview.build.removal.records import picture_of, read_record
from equiview.build.removal.rules import Rejected, Removal, candidates
from equiview.build.removal.settings import RemovalSettings
from equiview.build.removal.sources import Caption, Source
from equiview.data.items import Items
from equiview.data.seeds import seed_for
from equiview.io.fingerprint import fingerprint
from equiview.io.pictures import encoded
from equiview.io.tables import write_bytes
from equiview.text.things import Things

PICTURES = "removed"
RECORDS = "records"
NO_CAPTION = "none of its captions reads well without it"
UNCHANGED = "the filling left the picture as it was"
ENOUGH = "its image has enough removals"
NO_OBJECT = "nothing is annotated in the image"
NOT_THERE = "none of the classes to remove is in the image"


@dataclass(frozen=True)
class Remover:
    """Removes objects from images; the result depends on image, settings and filling only."""

    out: Path
    settings: RemovalSettings
    images: Items
    filling: Filling
    words: Things
    phrases: Phrases | None = None
    editor: Editor = edited

    def record_path(self, image: str) -> Path:
        """The file of an image's record."""
        return self.out / RECORDS / f"{fingerprint(image)}.json"

    def record(self, image: str) -> dict[str, Any] | None:
        """The record of an image, or None where there is none yet; InputError where it is damaged."""
        path = self.record_path(image)
        return read_record(path, image, self.out / PICTURES) if path.exists() else None

    def remove(self, source: Source) -> dict[str, Any]:
        """Make the pictures of one image and write its record; an image with a record is skipped."""
        if (known := self.record(source.id)) is not None:
            return known
        picture = np.asarray(self.images.pictures([source.row])[0])
        height, width = picture.shape[:2]
        objects, outside = source.regions(width, height)
        found = list(candidates(objects, width, height, self.settings.rules))
        rejected, removals = self._candidates(source.id, found)
        made: list[dict[str, Any]] = []
        refused: Counter[str] = Counter()
        for removal in removals:
            entry = (
                self._made(source, removal, picture, refused)
                if len(made) < self.settings.per_image
                else ENOUGH
            )
            if isinstance(entry, str):
                rejected.append(Rejected(removal.target, entry))
            else:
                made.append(entry)
        content = {
            "image_id": source.id,
            "width": width,
            "height": height,
            "boxes_outside": outside,
            "crowds": source.crowds,
            "made": made,
            "rejected": [vars(entry) for entry in rejected],
            "captions_refused": dict(refused),
        }
        write_bytes(json.dumps(content, ensure_ascii=False).encode(), self.record_path(source.id))
        return content

    def _candidates(
        self, image: str, found: list[Removal | Rejected]
    ) -> tuple[list[Rejected], list[Removal]]:
        """The rejected classes, and the possible removals in random order."""
        wanted = set(self.settings.classes)
        chosen = [entry for entry in found if not wanted or entry.target in wanted]
        if not chosen:
            return [Rejected("", NOT_THERE if found else NO_OBJECT)], []
        removals = [entry for entry in chosen if isinstance(entry, Removal)]
        Random(seed_for(self.settings.seed, f"{image}.order")).shuffle(removals)
        return [entry for entry in chosen if isinstance(entry, Rejected)], removals

    def _made(
        self, source: Source, removal: Removal, picture: Any, refused: Counter[str]
    ) -> dict[str, Any] | str:
        """The record of one removal's picture, or the reason why there is none; counts captions `refused`."""
        captions = self._captions(source, removal, refused)
        if not captions and self.settings.captions != "model":
            return NO_CAPTION
        mask = grown(mask_of(removal.region, picture.shape[1], picture.shape[0]), self.settings.grow)
        filled = self.filling(picture, mask)
        if (filled == picture).all():
            return UNCHANGED
        name = picture_of(source.id, removal.target)
        jpeg = encoded(Image.fromarray(filled), "JPEG", quality=self.settings.quality, subsampling=0)
        write_bytes(jpeg, self.out / PICTURES / name)
        return {
            "file": name,
            "target": removal.target,
            "removed": list(removal.removed),
            "kept": list(removal.kept),
            "share": round(removal.share, 6),
            "region": runs_of(removal.region) if removal.region.dtype == bool else removal.region.tolist(),
            "captions": captions,
        }

    def _captions(self, source: Source, removal: Removal, refused: Counter[str]) -> list[dict[str, str]]:
        """New captions with the originals; first those that name a removed class, which show the removal."""
        rng = Random(seed_for(self.settings.seed, f"{source.id}.{removal.target}.captions"))
        if self.settings.captions == "prompts":
            texts = [prompted(removal.kept, rng) for _ in range(self.settings.per_picture)]
            return [{"caption": text, "original": ""} for text in texts]
        if self.settings.captions == "model":
            return []
        captions = list(source.captions)
        rng.shuffle(captions)
        captions.sort(key=lambda caption: not naming(caption, removal.removed, self.words))
        edited_ones = filter(None, (self._edited(caption, removal, refused) for caption in captions))
        return list(islice(edited_ones, self.settings.per_picture))

    def _edited(self, caption: Caption, removal: Removal, refused: Counter[str]) -> dict[str, str] | None:
        """A caption without what was removed, with the original; None, and counted, where there is none."""
        try:
            if self.settings.captions == "phrases":
                text = rewritten(caption, removal.removed, self.words, self.editor)
            else:
                named = phrases_naming(caption, removal.removed, self.words, self.phrases)
                if (text := without(caption.text, named) or "") == "":
                    raise Refused(NO_WORDS)
        except Refused as why:
            refused[str(why)] += 1
            return None
        return {"caption": text, "original": caption.text}


def counted(records: Iterable[Mapping[str, Any]]) -> list[tuple[str, int]]:
    """How many candidates, and how many captions, were rejected for each reason, most frequent first."""
    reasons: Counter[str] = Counter()
    for record in records:
        reasons.update(entry["reason"] for entry in record["rejected"])
        refused = record.get("captions_refused", {})
        reasons.update({f"caption: {reason}": count for reason, count in refused.items()})
    return sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
