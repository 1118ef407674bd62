"""What loads a model that a user typed after `hf:` and that is no dual encoder of transformers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from equiview.errors import InputError

BY_NAME = {
    r"jina-embeddings-v4": "jina-v4:{}",
    r"qwen3-vl-embedding": "st:{}",
    r"colqwen3|colqwen-omni|colsmol|nomic-embed-multimodal|nomic-embed-(vision|text)": "mteb:{}",
    r"colnomic|colqwen-?2\.5": "colqwen2.5:{}",
    r"colqwen2.*-hf": "colqwen2:{}",
    r"colqwen2": "colqwen2:{}-hf",
    r"colpali.*-hf": "colpali:{}",
    r"colpali": "colpali:{}-hf",
    r"gme-qwen2": "gme:{}",
    r"^m-clip/": "mclip:{}",
}
"""What to type for a model of the hub, by a part of its name in lower case; the first that fits."""
BY_CLASS = {
    "JinaEmbeddingsV4Model": "jina-v4:{}",
    "ColPaliForRetrieval": "colpali:{}",
    "ColQwen2ForRetrieval": "colqwen2:{}",
    "ColQwen2_5": "colqwen2.5:{}",
    "Qwen3VLForConditionalGeneration": "st:{}",
    "Qwen2VLForConditionalGeneration": "gme:{}",
    "NomicBertModel": "st:{}",
    "MCLIP": "mclip:{}",
}
"""The same by the class of model that a configuration states."""
NOT_DUAL = {
    "blip-2": "BLIP-2 gives several vectors a picture and none a text alone",
    "flava": "FLAVA gives a vector a token and no pooled one",
    "instructblip": "InstructBLIP answers about a picture and has no vectors to compare",
}
"""Model types that have methods of dual encoders and are none."""


def check_name(name: str) -> None:
    """InputError for the name of a repository that another loader reads, before anything is fetched.

    >>> check_name("vidore/colpali-v1")
    Traceback (most recent call last):
    equiview.errors.InputError: vidore/colpali-v1: hf reads dual encoders; say colpali:vidore/colpali-v1-hf
    """
    bare, at, revision = name.partition("@")
    for part, instead in BY_NAME.items():
        if re.search(part, bare.lower()):
            said = instead.format(bare) + (at + revision if "-hf" not in instead else "")
            raise InputError(f"{name}: hf reads dual encoders; say {said}")


def check_config(name: str, config: Mapping[str, Any]) -> None:
    """InputError for a configuration that another loader reads, or that no loader of encoders does."""
    kind = str(config.get("model_type", ""))
    if kind in NOT_DUAL:
        raise InputError(f"{name}: {NOT_DUAL[kind]}; a dual encoder is needed")
    for stated in config.get("architectures") or ():
        if stated in BY_CLASS:
            raise InputError(f"{name}: hf reads dual encoders; say {BY_CLASS[stated].format(name)}")
