"""`open_clip:ARCH,pretrained=TAG` and `open_clip:ID_OR_FOLDER`: models of the OpenCLIP library.

ARCH and TAG are names of that library's own list (`pretrained=` may also be a file of weights). A folder, or
a repository of the Hugging Face hub, holds `open_clip_config.json` beside OpenCLIP's weights. Pictures and
texts go through the library's own preprocessing at evaluation and its own tokenizer. Where the tokenizer
marks the language of a text, as NLLB-CLIP's does, each text is marked with its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equiview.data.arguments import split_argument
from equiview.errors import InputError, unknown_name
from equiview.extras import require
from equiview.io.fingerprint import fingerprint
from equiview.subjects.encoders.checkpoint import COMMON, Checkpoint, content_hash
from equiview.subjects.encoders.loading import failures, from_files, library_bars_off
from equiview.subjects.encoders.torch_encoder import Inputs, Tokens, TorchEncoder, readable

if TYPE_CHECKING:
    import torch
    from PIL.Image import Image

CONFIG = "open_clip_config.json"
MARK = r"[a-z]{2,3}_[A-Z][A-Za-z]{1,3}"
"""A tokenizer's mark of a language: eng_Latn with NLLB, en_XX with mBART."""
USUAL_MARKS = {"ko": "kor_Hang", "ps": "pbt_Arab", "qu": "quy_Latn", "quz": "quy_Latn", "ff": "fuv_Latn"}
"""NLLB's marks that langcodes does not find; of Quechua the only one it has."""
FAR = 9
"""The distance, as langcodes counts it, up to which two codes are one language, or its variety."""


class OpenClip(TorchEncoder):
    """A model of the OpenCLIP library."""

    packages = ("open_clip_torch", "torchvision", "timm", *TorchEncoder.packages)
    scheme = "open_clip"
    extra = "open-clip"
    parts_used = ("parts", "tokenizer")
    weights: Path | None = None
    """The file of weights, for a model that is named by its architecture."""

    def find(self, argument: str) -> Checkpoint:
        """The folder of a checkpoint, or the weights of an architecture, fetched if need be."""
        name, options = split_argument(argument, self.scheme, (*COMMON, "pretrained"))
        architectures = require("open_clip", self.extra).list_models()
        if "pretrained" not in options and name not in architectures:
            checkpoint = Checkpoint.find(argument, self.scheme, extra=self.extra, open_clip=True)
            checkpoint.need(CONFIG)
            return checkpoint
        if name not in architectures:
            raise unknown_name("architecture of OpenCLIP", name, architectures)
        self.weights = self._weights(name, options.get("pretrained", ""))
        return Checkpoint(f"{name}, {options['pretrained']}", self.weights.parent, options, open_clip=True)

    def _weights(self, name: str, tag: str) -> Path:
        """The weights of an architecture by their tag, or a file; InputError where they do not fit it."""
        library = require("open_clip", self.extra)
        if Path(tag).is_file():
            return Path(tag)
        tags = library.list_pretrained_tags_by_model(name)
        if tag not in tags:
            known = ", ".join(tags) or "none"
            raise InputError(
                f"open_clip: {name} has no weights named {tag!r}; say open_clip:{name},pretrained=TAG or "
                f"FILE; its tags: {known}"
            )
        stated = library.get_pretrained_cfg(name, tag)
        computed = bool(library.get_model_config(name).get("quick_gelu", False))
        if bool(stated.get("quick_gelu", False)) != computed:
            other = name.removesuffix("-quickgelu") if computed else f"{name}-quickgelu"
            raise InputError(
                f"open_clip: weights {tag!r} were trained with{'out' if computed else ''} QuickGELU, unlike "
                f"{name}; say open_clip:{other},pretrained={tag}"
            )
        with failures(
            f"open_clip: weights {tag!r} of {name} are not in the hub's cache and could not be fetched"
        ):
            return Path(library.download_pretrained(stated))

    @property
    def _source(self) -> str:
        """The library's name of the model."""
        named = self.argument.partition(",")[0]
        return named if self.weights else f"local-dir:{self.checkpoint.folder}"

    @property
    def config(self) -> Mapping[str, Any]:
        """Architecture and preprocessing as the library or the folder states them."""
        if self.weights is None:
            return self.checkpoint.json(CONFIG)
        library = require("open_clip", self.extra)
        stated = library.get_pretrained_cfg(self._source, self.options["pretrained"])
        return {"model_cfg": library.get_model_config(self._source), "preprocess_cfg": stated}

    @property
    def recipe(self) -> str:
        """Architecture, the text tower's configuration where it is elsewhere, preprocessing and tokenizer."""
        parts: list[object] = [json.dumps(self.config, sort_keys=True, default=str)]
        text = self.config.get("model_cfg", {}).get("text_cfg", {}).get("hf_model_name")
        if text:
            tower = from_files(require("transformers", self.extra).AutoConfig, text).to_dict()
            tower.pop("transformers_version", None)
            parts.append(json.dumps(tower, sort_keys=True, default=str))
        if self.by_language:
            parts.append("each text marked with its language")
        _ = self.tokenizer
        return fingerprint(*parts, *self._read_by)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of weights, configuration, tokenizer and precision."""
        weights = content_hash(self.weights) if self.weights else self.checkpoint.fingerprint
        return fingerprint(type(self).__qualname__, weights, self.dtype, self.recipe)

    @cached_property
    def parts(self) -> tuple[Any, Any]:
        """The model, whole, on its device and in evaluation mode, and its preprocessing of pictures."""
        library = require("open_clip", self.extra)
        tag = self.options.get("pretrained")
        with failures(f"{self.checkpoint.name}: OpenCLIP cannot load it"), library_bars_off():
            model, _, preprocess = library.create_model_and_transforms(
                self._source, pretrained=tag, require_pretrained=True, weights_only=True
            )
        return model.to(self.device, self.dtype).eval(), preprocess

    @cached_property
    def tokenizer(self) -> Any:
        """Its tokenizer, which pads every text to the model's length."""
        with failures(f"{self.checkpoint.name}: OpenCLIP cannot load its tokenizer"):
            tokenizer = require("open_clip", self.extra).get_tokenizer(self._source)
        self._read_by = _contents(tokenizer)  # now: it changes with the texts that it reads
        return tokenizer

    def picture_inputs(self, images: Sequence[Image]) -> Inputs:
        """Pixels `(n, 3, side, side)`."""
        preprocess = self.parts[1]
        return {"image": require("torch", self.extra).stack([preprocess(image) for image in images])}

    def image_vectors(self, inputs: Inputs) -> torch.Tensor:
        """The image tower's vectors."""
        return self.parts[0].encode_image(**inputs)

    def tokens(self, texts: Sequence[str]) -> list[Tokens]:
        """Token ids, padded already."""
        return [{"input_ids": row} for row in self.tokenizer(list(texts)).tolist()]

    def cuts(self, texts: Sequence[str]) -> list[bool]:
        """Whether each text has more tokens than the model's length."""
        limit, given = self.tokenizer.context_length, readable(texts)
        if getattr(self.tokenizer, "tokenizer_mode", "") == "clips":  # it keeps a class token at the end
            ids = self.tokenizer.tokenizer(given, add_special_tokens=False, verbose=False)["input_ids"]
            return [len(row) > limit - 3 for row in ids]
        *rows, empty = self.tokenizer([*given, ""], context_length=limit + 1)
        read = self.tokenizer([*given], context_length=limit) if given else []
        # One place more shows another token there, or the end of the text moved to it.
        return [
            bool((row[:-1] != kept).any() or row[-1] != empty[-1])
            for row, kept in zip(rows, read, strict=True)
        ]

    def padded(self, rows: Sequence[Tokens]) -> Inputs:
        """Texts as one batch."""
        return {"text": require("torch", self.extra).tensor([row["input_ids"] for row in rows])}

    def text_vectors(self, inputs: Inputs) -> torch.Tensor:
        """The text tower's vectors."""
        return self.parts[0].encode_text(**inputs)

    @cached_property
    def marks(self) -> tuple[str, ...]:
        """The tokenizer's marks of languages, such as swh_Latn; none where it has no use for them."""
        if not hasattr(self.tokenizer, "set_lang_fn"):
            return ()
        known = self.tokenizer.tokenizer.get_added_vocab()
        return tuple(sorted(token for token in known if re.fullmatch(MARK, token)))

    @property
    def by_language(self) -> bool:  # type: ignore[override]
        """Whether its tokenizer marks the language of a text."""
        return bool(self.marks)

    def encode_texts_in(self, texts: Sequence[str], language: str) -> Any:
        """Unit vectors `(n, width)` of texts of one language; InputError for one that it has no mark for."""
        if not self.marks:
            return self.encode_texts(texts)
        # Not OpenCLIP's `set_language`: the next call of transformers' tokenizer would undo it.
        tokenizer = self.tokenizer.tokenizer
        before = tokenizer.src_lang
        tokenizer.src_lang = mark_of(language, self.marks, self.checkpoint.name)
        try:
            return self.encode_texts(texts)
        finally:
            tokenizer.src_lang = before


def mark_of(language: str, marks: Sequence[str], model: str) -> str:
    """The mark of `language`, by its code or as the model writes it; InputError where there is none.

    >>> mark_of("sw", ["eng_Latn", "swh_Latn"], "nllb"), mark_of("quz", ["quy_Latn"], "nllb")
    ('swh_Latn', 'quy_Latn')
    """
    import langcodes

    for own in (language, USUAL_MARKS.get(language, "")):
        if own in marks:
            return own
    by_tag = {mark.replace("_", "-"): mark for mark in marks}
    try:
        found, _ = langcodes.closest_match(language, list(by_tag), max_distance=FAR)
    except ValueError:  # not the form of a language's code
        found = "und"
    if found not in by_tag:
        raise InputError(
            f"{model}: marks texts with their language and has no mark for {language!r}; leave it out, or "
            f"write it as one of: {', '.join(marks)}"
        )
    return by_tag[found]


def _contents(tokenizer: Any) -> list[str]:
    """Everything that decides the token ids of an OpenCLIP tokenizer, and of transformers' inside one."""
    parts = [type(tokenizer).__qualname__]
    for name, value in sorted(vars(tokenizer).items()):
        if hasattr(value, "get_vocab"):
            whole = getattr(value, "backend_tokenizer", None)
            parts += [name, whole.to_str() if whole else json.dumps(value.get_vocab(), sort_keys=True)]
        elif callable(value):
            parts += [name, value.__qualname__]
        elif name != "cache":  # which grows with every text
            parts += [name, str(value)]
    return parts
