"""The image tower of an OpenCLIP checkpoint, run by transformers: its weights under their other names.

The sizes are read off the weights, the width of a head off `open_clip_config.json` beside them: weights do
not show it (64 in ViT-B and ViT-L, 80 in ViT-H, 88 in ViT-g, 104 in ViT-bigG). A tower that computes anything
else than OpenCLIP's plain vision transformer is refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from math import isqrt
from typing import TYPE_CHECKING, Any

from equiview.errors import InputError
from equiview.extras import require
from equiview.subjects.encoders.checkpoint import Checkpoint
from equiview.subjects.encoders.loading import filled, state_of
from equiview.subjects.encoders.torch_encoder import Inputs

if TYPE_CHECKING:
    import torch
    from PIL.Image import Image

NAMES = (
    (r"^visual\.class_embedding$", "vision_model.embeddings.class_embedding"),
    (r"^visual\.positional_embedding$", "vision_model.embeddings.position_embedding.weight"),
    (r"^visual\.conv1\.", "vision_model.embeddings.patch_embedding."),
    (r"^visual\.ln_pre\.", "vision_model.pre_layrnorm."),
    (r"^visual\.ln_post\.", "vision_model.post_layernorm."),
    (r"^visual\.transformer\.resblocks\.(\d+)\.ln_(\d)\.", r"vision_model.encoder.layers.\1.layer_norm\2."),
    (r"^visual\.transformer\.resblocks\.(\d+)\.mlp\.c_fc\.", r"vision_model.encoder.layers.\1.mlp.fc1."),
    (r"^visual\.transformer\.resblocks\.(\d+)\.mlp\.c_proj\.", r"vision_model.encoder.layers.\1.mlp.fc2."),
    (r"^visual\.transformer\.resblocks\.(\d+)\.attn\.", r"vision_model.encoder.layers.\1.self_attn."),
)


HEAD_WIDTH = 64
"""The width of a head where `vision_cfg` states none, as in OpenCLIP's `CLIPVisionCfg`."""
PLAIN: dict[str, tuple[Any, ...]] = {
    "pool_type": ("tok",),
    "final_ln_after_pool": (False,),
    "act_kwargs": (None, {}),
    "norm_kwargs": (None, {}),
}
"""Settings that change what a tower computes and not its weights, with their values in the plain one."""


class OpenClipTower:
    """Pictures to projected vectors, as `visual` of an OpenCLIP model makes them."""

    def __init__(self, checkpoint: Checkpoint, device: torch.device, dtype: torch.dtype) -> None:
        self.checkpoint, self.device, self.dtype = checkpoint, device, dtype

    @cached_property
    def settings(self) -> dict[str, Any]:
        """What the checkpoint states beside its weights."""
        return self.checkpoint.json("open_clip_config.json")

    def head_width(self, width: int) -> int:
        """The width of an attention head; InputError where it is not stated, or the tower is not plain."""
        vision = self.settings.get("model_cfg", {}).get("vision_cfg")
        where = f"{self.checkpoint.folder}/open_clip_config.json"
        if not isinstance(vision, dict):
            raise InputError(f"{where}: states no vision_cfg, so that the width of a head is not known")
        for name, plain in PLAIN.items():
            if name in vision and vision[name] not in plain:
                raise InputError(
                    f"{where}: {name} is {vision[name]!r}; mclip reads plain vision transformers"
                )
        head = vision.get("head_width", HEAD_WIDTH)
        if not isinstance(head, int) or head < 1 or width % head:
            raise InputError(f"{where}: heads are {head!r} wide, which does not divide the width {width}")
        return head

    @cached_property
    def model(self) -> Any:
        """The tower, as transformers' `CLIPVisionModelWithProjection`."""
        library = require("transformers", "hf")
        path = self.checkpoint.weights[0]
        state = {name: value for name, value in state_of(path).items() if name.startswith("visual.")}
        try:
            width, _, patch, _ = state["visual.conv1.weight"].shape
            side = isqrt(len(state["visual.positional_embedding"]) - 1)
            inner = len(state["visual.transformer.resblocks.0.mlp.c_fc.bias"])
            projection = state["visual.proj"]
        except KeyError as error:
            raise InputError(f"{path}: has no {error}; it is not a vision transformer of OpenCLIP") from None
        quick = self.settings.get("model_cfg", {}).get("quick_gelu", False)
        layers = {int(match[1]) for name in state if (match := re.search(r"resblocks\.(\d+)\.", name))}
        config = library.CLIPVisionConfig(
            hidden_size=width,
            intermediate_size=inner,
            projection_dim=projection.shape[1],
            num_hidden_layers=len(layers),
            num_attention_heads=width // self.head_width(width),
            image_size=side * patch,
            patch_size=patch,
            hidden_act="quick_gelu" if quick else "gelu",
        )
        empty, tensors = library.CLIPVisionModelWithProjection(config), renamed(state)
        if stray := sorted(set(tensors) - set(empty.state_dict())):
            raise InputError(
                f"{path}: its image tower has {len(stray)} weights that a plain vision transformer has no "
                f"use for, such as {stray[0]}"
            )
        model = filled(empty, tensors, path)
        return model.to(self.device, self.dtype).eval()

    @cached_property
    def processor(self) -> Any:
        """OpenCLIP's preprocessing at evaluation: the shorter side resized, the middle cut out."""
        library = require("transformers", "hf")
        side = self.model.config.image_size
        stated = self.settings.get("preprocess_cfg", {})
        normalisation = {f"image_{name}": stated[name] for name in ("mean", "std") if name in stated}
        crop = {"height": side, "width": side}
        return library.CLIPImageProcessorPil(size={"shortest_edge": side}, crop_size=crop, **normalisation)

    def picture_inputs(self, images: Sequence[Image]) -> Inputs:
        """Pixels `(n, 3, side, side)`."""
        return dict(self.processor(images=list(images), return_tensors="pt"))

    def image_vectors(self, inputs: Inputs) -> torch.Tensor:
        """Projected vectors `(n, width)`."""
        return self.model(**inputs).image_embeds


def renamed(state: dict[str, Any]) -> dict[str, Any]:
    """OpenCLIP's tensors under transformers' names; queries, keys and values are split."""
    tensors: dict[str, Any] = {}
    for name, value in state.items():
        if name == "visual.proj":
            tensors["visual_projection.weight"] = value.T.contiguous()
            continue
        for pattern, replacement in NAMES:
            name, replaced = re.subn(pattern, replacement, name)  # noqa: PLW2901 - the name under its new name
            if replaced:
                break
        if "in_proj_" in name:
            stem, _, kind = name.partition("in_proj_")
            for part, piece in zip("qkv", value.chunk(3), strict=True):
                tensors[f"{stem}{part}_proj.{kind}"] = piece
        else:
            tensors[name] = value
    return tensors
