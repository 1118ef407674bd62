"""`hf:ID_OR_PATH`: dual encoders of the transformers library, one tower for images and one for texts.

CLIP, Chinese-CLIP, SigLIP, SigLIP 2, AltCLIP, and whatever else has `get_image_features` and
`get_text_features`; of BLIP the two projections that its contrastive loss compares (Li et al. 2022). A
checkpoint that brings code of its own, as jina-clip-v2 does, is run only when asked for as `hf-trust:`.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from equiview.errors import InputError
from equiview.extras import require
from equiview.subjects.encoders.checkpoint import Checkpoint, code_of, files_hash
from equiview.subjects.encoders.hints import check_config, check_name
from equiview.subjects.encoders.loading import preprocessing_of, tokenizer_of, whole_model
from equiview.subjects.encoders.torch_encoder import LENGTH_LIMIT, Inputs, Tokens, TorchEncoder, pad

if TYPE_CHECKING:
    import torch
    from PIL.Image import Image

FULL_LENGTH = {"siglip", "siglip2"}
"""Families trained on texts padded to one length without an attention mask."""


class HuggingFace(TorchEncoder):
    """A dual encoder of the transformers library."""

    scheme = "hf"
    trust = False
    extra_options: ClassVar[tuple[str, ...]] = ("dim",)

    def find(self, argument: str) -> Checkpoint:
        """The named checkpoint; InputError says what loads one that is no dual encoder."""
        name = argument.partition(",")[0]
        if not Path(name).expanduser().is_dir():
            check_name(name)
        checkpoint = super().find(argument)
        if not (checkpoint.folder / "config.json").is_file():
            adapter = checkpoint.folder / "adapter_config.json"
            base = checkpoint.json(adapter.name).get("base_model_name_or_path") if adapter.is_file() else ""
            check_name(str(base or ""))
        return checkpoint

    @property
    def recipe(self) -> str:
        """How SigLIP's texts are prepared."""
        return "lower case where trained so" if self.model_type in FULL_LENGTH else ""

    @cached_property
    def model_type(self) -> str:
        """The model type that the configuration states."""
        config = self.checkpoint.json()
        check_config(self.checkpoint.name, config)
        kind = str(config.get("model_type", ""))
        library = require("transformers", self.extra)
        if "auto_map" in config and kind not in library.CONFIG_MAPPING and not self.trust:
            raise InputError(
                f"{self.checkpoint.name}: brings program code of its own, which would run on this machine; "
                f"if you have read it and trust it, say hf-trust:{self.argument}"
            )
        return kind

    @cached_property
    def model(self) -> Any:
        """The model, whole, on its device and in evaluation mode."""
        library = require("transformers", self.extra)
        kind = library.BlipForImageTextRetrieval if self.model_type == "blip" else library.AutoModel
        model = whole_model(kind, self.checkpoint.folder, dtype=self.dtype, **self.trusted)
        towers = ("get_image_features", "get_text_features")
        if self.model_type != "blip" and not all(hasattr(model, tower) for tower in towers):
            raise InputError(
                f"{self.checkpoint.name}: {type(model).__name__} does not make separate vectors of images "
                "and texts; a dual encoder is needed"
            )
        return model.to(self.device).eval()

    @cached_property
    def processor(self) -> Any:
        """Its image preprocessing, always by Pillow: torchvision resizes differently."""
        kind = require("transformers", self.extra).AutoImageProcessor
        return preprocessing_of(self.checkpoint, kind, backend="pil", **self.trusted)

    @cached_property
    def tokenizer(self) -> Any:
        """Its tokenizer; SigLIP 2's lowercases texts as in training, even where its files name Gemma's."""
        tokenizer = tokenizer_of(self.checkpoint, **self.trusted)
        if self.model_type in FULL_LENGTH and type(tokenizer).__name__.startswith("Gemma"):
            kind = require("transformers", self.extra).Siglip2Tokenizer
            return tokenizer_of(self.checkpoint, kind, **self.trusted)
        return tokenizer

    @property
    def trusted(self) -> dict[str, Any]:
        """How a file may be loaded: with the code it brings, or from this folder alone."""
        return {"local_files_only": True}

    def picture_inputs(self, images: Sequence[Image]) -> Inputs:
        """Pixels, and with SigLIP 2 the shape and mask of their patches."""
        return dict(self.processor(images=list(images), return_tensors="pt"))

    def image_vectors(self, inputs: Inputs) -> torch.Tensor:
        """The model's image features."""
        if self.model_type == "blip":
            states = self.model.vision_model(pixel_values=inputs["pixel_values"]).last_hidden_state
            return self.model.vision_proj(states[:, 0])
        return _vectors(self.model.get_image_features(**inputs))

    @cached_property
    def limit(self) -> int:
        """The longest text in tokens: what the tokenizer and the position table both allow."""
        config = self.model.config
        text = getattr(config, "text_config", config)
        positions = int(getattr(text, "max_position_embeddings", LENGTH_LIMIT))
        if "roberta" in getattr(text, "model_type", "") or self.model_type == "altclip":
            positions -= int(text.pad_token_id) + 1  # their positions start at the padding id + 1
        return min(positions, int(self.tokenizer.model_max_length), LENGTH_LIMIT)

    def tokens(self, texts: Sequence[str]) -> list[Tokens]:
        """Token ids and whatever else the tokenizer makes."""
        columns = self.tokenizer(list(texts), truncation=self.limit < LENGTH_LIMIT, max_length=self.limit)
        return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]

    def cuts(self, texts: Sequence[str]) -> list[bool]:
        """Whether each text has more tokens than the model's limit."""
        whole = self.tokenizer(list(texts), truncation=False, verbose=False)["input_ids"]
        return [len(ids) > self.limit for ids in whole]

    @cached_property
    def fills(self) -> dict[str, int]:
        """Inputs that the text tower reads, each with its padding value."""
        fills = {"input_ids": int(self.tokenizer.pad_token_id or 0), "attention_mask": 0, "token_type_ids": 0}
        if self.model_type in FULL_LENGTH:
            return {"input_ids": fills["input_ids"]}
        blip = self.model_type == "blip"
        forward = self.model.text_encoder.forward if blip else self.model.get_text_features
        parameters = inspect.signature(forward).parameters
        return {name: fill for name, fill in fills.items() if name in parameters}

    def padded(self, rows: Sequence[Tokens]) -> Inputs:
        """Texts padded to the longest, or to the length that the model was trained with."""
        length = self.limit if self.model_type in FULL_LENGTH else 0
        side = "right" if self.model_type in FULL_LENGTH else self.tokenizer.padding_side
        return pad(rows, self.fills, side, length)

    def text_vectors(self, inputs: Inputs) -> torch.Tensor:
        """The model's text features."""
        if self.model_type == "blip":
            states = self.model.text_encoder(**inputs).last_hidden_state
            return self.model.text_proj(states[:, 0])
        return _vectors(self.model.get_text_features(**inputs))


class TrustedHuggingFace(HuggingFace):
    """A dual encoder that brings code of its own; code written for transformers 4 may not run.

    Code that lies in another repository is fetched at `code_revision=` or as it is now; that commit runs
    and the code's content is part of the fingerprint.
    """

    scheme = "hf-trust"
    trust = True
    extra_options = ("dim", "code_revision")

    @cached_property
    def code(self) -> Path | None:
        """The folder of the code that lies in another repository; None where it lies beside the weights."""
        named = {str(name) for name in self.checkpoint.json().get("auto_map", {}).values()}
        elsewhere = sorted({name.partition("--")[0] for name in named if "--" in name})
        if len(elsewhere) > 1:
            raise InputError(
                f"{self.checkpoint.name}: its code lies in {' and '.join(elsewhere)}; one repository can be "
                "pinned"
            )
        return code_of(elsewhere[0], self.options.get("code_revision", "")) if elsewhere else None

    @property
    def recipe(self) -> str:
        """The code, by its content, where it is not among the checkpoint's own files."""
        code = files_hash(self.code, sorted(self.code.rglob("*.py"))) if self.code else ""
        return f"{super().recipe} {code}".strip()

    @property
    def trusted(self) -> dict[str, Any]:
        """The code that the checkpoint brings may run, and only that of the pinned commit."""
        return {"trust_remote_code": True} | ({"code_revision": self.code.name} if self.code else {})


def _vectors(output: Any) -> torch.Tensor:
    """Features, which transformers returns alone or as the pooled part of a larger output."""
    vectors = getattr(output, "pooler_output", output)
    if getattr(vectors, "ndim", 0) != 2:
        raise InputError(f"this model gives {type(output).__name__} and not one vector an item")
    return vectors
