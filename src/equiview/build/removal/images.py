"""One image at a time: which classes can be removed, the pictures without them, and their captions."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from equiview.build.removal.areas import grown, mask_of
from equiview.build.removal.captions import Phrases, phrases_naming, prompted, without
from equiview.build.removal.fill import Filling
from equiview.build.removal.masks import runs_of
from equiview.build.removal.rules import Rejected, Removal, RemovalRules, candidates
from equiview.build.removal.sources import Source
from equiview.build.removal.words import Words
from equiview.data.items import Items
from equiview.data.seeds import seed_for
from equiview.errors import InputError
from equiview.io.files import parse_json
from equiview.io.fingerprint import fingerprint
from equiview.io.refusals import refused
from equiview.io.tables import write_bytes

PICTURES = "removed"
RECORDS = "records"
NO_WORDS = "its captions lose every word"
UNCHANGED = "the filling left the picture as it was"
ENOUGH = "its image has enough removals"
NO_OBJECT = "nothing is annotated in the image"
NOT_THERE = "none of the classes to remove is in the image"


class RemovalSettings(BaseModel):
    """What a user may choose; the defaults are O's where it says them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rules: RemovalRules = RemovalRules()
    classes: tuple[str, ...] = Field(default=(), description="the classes to remove; empty is all")
    grow: int = Field(default=0, ge=0, description="pixels around what is removed that are filled as well")
    per_image: int = Field(default=1, ge=1, description="pictures made of one image; O makes one")
    captions: Literal["phrases", "prompts", "model"] = Field(
        default="phrases", description="how captions are made"
    )
    per_picture: int = Field(default=1, ge=1, description="captions of a picture; O's default is one of five")
    quality: int = Field(default=95, ge=1, le=100, description="quality of the JPEG files")
    seed: int = Field(default=0, ge=0)

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> RemovalSettings:
        """Settings from what a user gave; InputError says which is wrong.

        >>> RemovalSettings.of({"rules": {"keep_below": 0.9}})
        Traceback (most recent call last):
        ...
        equiview.errors.InputError: setting rules: keep_below must not be above along_above
        """
        with refused(lambda first: f"setting {first}"):
            return cls.model_validate(dict(given))


@dataclass(frozen=True)
class Remover:
    """What is done to each image; the same for the same image, settings and filling, in any process."""

    out: Path
    settings: RemovalSettings
    images: Items
    filling: Filling
    words: Words
    phrases: Phrases | None = None

    def record_path(self, image: str) -> Path:
        """Where it is kept what was done to an image."""
        return self.out / RECORDS / f"{fingerprint(image)}.json"

    def record(self, image: str) -> dict[str, Any] | None:
        """What was done to an image, or None where it was not looked at."""
        path = self.record_path(image)
        if not path.exists():
            return None
        content = parse_json(path.read_text("utf-8"), str(path))
        if not isinstance(content, dict):
            raise InputError(f"{path}: is not what the builder writes; delete it and build again")
        return content

    def remove(self, source: Source) -> dict[str, Any]:
        """Make the pictures of one image and keep what was done; what is kept is not done again."""
        if (known := self.record(source.id)) is not None:
            return known
        picture = np.asarray(self.images.pictures([source.row])[0])
        height, width = picture.shape[:2]
        objects, outside = source.regions(width, height)
        rejected, removals = self._candidates(
            source.id, list(candidates(objects, width, height, self.settings.rules))
        )
        made: list[dict[str, Any]] = []
        for removal in removals:
            entry = self._made(source, removal, picture) if len(made) < self.settings.per_image else ENOUGH
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
        }
        text = json.dumps(content, ensure_ascii=False)
        write_bytes(text.encode(), self.record_path(source.id))
        return content

    def _candidates(
        self, image: str, found: list[Removal | Rejected]
    ) -> tuple[list[Rejected], list[Removal]]:
        """Of what the rules say of each class: what is rejected, and what can be removed, drawn by lot."""
        wanted = set(self.settings.classes)
        chosen = [entry for entry in found if not wanted or entry.target in wanted]
        rejected = [entry for entry in chosen if isinstance(entry, Rejected)]
        removals = [entry for entry in chosen if isinstance(entry, Removal)]
        Random(seed_for(self.settings.seed, f"{image}.order")).shuffle(removals)
        if not chosen:
            rejected = [Rejected("", NOT_THERE if found else NO_OBJECT)]
        return rejected, removals

    def _made(self, source: Source, removal: Removal, picture: Any) -> dict[str, Any] | str:
        """What is made of an image by one removal, or why nothing is."""
        captions = self._captions(source, removal)
        if not captions and self.settings.captions != "model":
            return NO_WORDS
        mask = grown(mask_of(removal.region, picture.shape[1], picture.shape[0]), self.settings.grow)
        filled = self.filling(picture, mask)
        if (filled == picture).all():
            return UNCHANGED
        name = f"{fingerprint(source.id, removal.target)}.jpg"
        write_bytes(_jpeg(filled, self.settings.quality), self.out / PICTURES / name)
        return {
            "file": name,
            "target": removal.target,
            "removed": list(removal.removed),
            "kept": list(removal.kept),
            "share": round(removal.share, 6),
            "region": runs_of(removal.region) if removal.region.dtype == bool else removal.region.tolist(),
            "captions": captions,
        }

    def _captions(self, source: Source, removal: Removal) -> list[dict[str, str]]:
        """New captions with what they were: those that name what is removed first, since they show it."""
        rng = Random(seed_for(self.settings.seed, f"{source.id}.{removal.target}.captions"))
        if self.settings.captions == "prompts":
            texts = [prompted(removal.kept, rng) for _ in range(self.settings.per_picture)]
            return [{"caption": text, "original": ""} for text in texts]
        if self.settings.captions == "model":
            return []
        named = [
            (caption.text, phrases_naming(caption, removal.removed, self.words, self.phrases))
            for caption in source.captions
        ]
        rng.shuffle(named)
        named.sort(key=lambda entry: not entry[1])
        captions: list[dict[str, str]] = []
        for original, dropped in named:
            text = without(original, dropped)
            if text is not None and len(captions) < self.settings.per_picture:
                captions.append({"caption": text, "original": original})
        return captions


def counted(records: Iterable[Mapping[str, Any]]) -> list[tuple[str, int]]:
    """How many candidates were rejected for each reason, most frequent first."""
    reasons = Counter(entry["reason"] for record in records for entry in record["rejected"])
    return sorted(reasons.items(), key=lambda item: (-item[1], item[0]))


def _jpeg(picture: Any, quality: int) -> bytes:
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, "JPEG", quality=quality, subsampling=0)
    return buffer.getvalue()
