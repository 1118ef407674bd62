"""Weights of vision-language models under whatever names a version of the library gave them, and LoRA on top.

Published checkpoints of one architecture have `model.layers.0...`, `language_model.layers.0...` or
`model.language_model.layers.0...` for the same tensor; here a tensor is named by their common part.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from equiview.errors import InputError
from equiview.extras import require
from equiview.subjects.encoders.checkpoint import SAFE, Checkpoint
from equiview.subjects.encoders.loading import from_files, loaded, state_of

Tensors = dict[str, Any]


def common_name(name: str) -> str:
    """The part of a tensor's name that all versions share.

    >>> common_name("base_model.model.model.language_model.layers.0.mlp.up_proj.weight")
    'layers.0.mlp.up_proj.weight'
    """
    return ".".join(
        part for part in name.split(".") if part not in {"base_model", "model", "language_model", "vlm"}
    )


def tensors_of(checkpoint: Checkpoint) -> Tensors:
    """Every tensor of a checkpoint's own folder by its common name, without adapters in folders below it."""
    tensors: Tensors = {}
    for path in checkpoint.weights:
        if path.parent == checkpoint.folder:
            tensors |= {common_name(name): value for name, value in state_of(path).items()}
    return tensors


def backbone(kind: str, checkpoint: Checkpoint, tensors: Mapping[str, Any], dtype: Any) -> Any:
    """A model of transformers' class `kind` with the weights of `tensors`; InputError when one is missing."""
    torch = require("torch", "hf")
    model_class = getattr(require("transformers", "hf"), kind)
    config = from_files(model_class.config_class, checkpoint.folder, local_files_only=True)
    with torch.device("meta"):
        names = model_class(config).state_dict()
    state = {name: tensors[common_name(name)] for name in names if common_name(name) in tensors}
    missing = {"missing_keys": [name for name in names if name not in state]}
    loaded(model_class, missing, checkpoint.folder)
    return from_files(model_class, None, config=config, state_dict=state, dtype=dtype)


def linear(name: str, tensors: Mapping[str, Any], where: Any) -> Any:
    """The linear layer of that name."""
    torch = require("torch", "hf")
    if f"{name}.weight" not in tensors:
        raise InputError(f"{where}: has no {name}.weight, the layer that makes the vectors")
    weight, bias = tensors[f"{name}.weight"], tensors.get(f"{name}.bias")
    layer = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None, dtype=weight.dtype)
    layer.load_state_dict({"weight": weight} | ({} if bias is None else {"bias": bias}))
    return layer


def adapted(tensors: Tensors, adapter: Checkpoint, task: str = "") -> Tensors:
    """`tensors` with a LoRA adapter merged in: W + (alpha / r) B A for each layer that it names.

    `adapter` has `adapter_config.json`. In an adapter for several tasks each layer has `lora_A.TASK.weight`,
    and `task` chooses one. Hu et al., "LoRA", ICLR 2022, equation 3; with `use_rslora` the scale is alpha
    over the square root of r. Raises InputError for DoRA and for layers that the model does not have.
    """
    settings = adapter.json("adapter_config.json")
    if settings.get("peft_type", "LORA") != "LORA" or settings.get("use_dora"):
        raise InputError(f"{adapter.folder}: its adapter is not plain LoRA and cannot be merged")
    merged = dict(tensors)
    halves: dict[str, dict[str, Any]] = {}
    for name, value in _adapter_tensors(adapter.folder).items():
        split = re.fullmatch(r"(.+)\.lora_([AB])(?:\.default)?(?:\.([\w-]+))?\.weight", common_name(name))
        if split is None:
            # A layer trained wholly (`modules_to_save`) is in the adapter under its own name.
            whole = r"\.(modules_to_save|base_layer|original_module)(\.default)?"
            merged[re.sub(whole, "", common_name(name))] = value
        elif not split[3] or split[3] == task:
            halves.setdefault(split[1], {})[split[2]] = value
    if task and not halves:
        raise InputError(f"{adapter.folder}: its adapter has no task {task!r}")
    for layer, pair in halves.items():
        weight = merged.get(f"{layer}.weight")
        if weight is None or set(pair) != {"A", "B"}:
            raise InputError(f"{adapter.folder}: the adapter changes {layer}, which the model does not have")
        rank = _of_layer(settings.get("rank_pattern"), layer, settings.get("r", len(pair["A"])))
        alpha = _of_layer(settings.get("alpha_pattern"), layer, settings.get("lora_alpha", rank))
        scale = alpha / (math.sqrt(rank) if settings.get("use_rslora") else rank)
        change = pair["B"].float() @ pair["A"].float() * scale
        if settings.get("fan_in_fan_out"):
            change = change.T
        if change.shape != weight.shape:
            raise InputError(
                f"{adapter.folder}: the adapter's {layer} is {tuple(change.shape)}, the model's "
                f"{tuple(weight.shape)}; it is an adapter of another model"
            )
        merged[f"{layer}.weight"] = (weight.float() + change).to(weight.dtype)
    return merged


def _adapter_tensors(folder: Path) -> Tensors:
    for name in (f"adapter_model{SAFE}", "adapter_model.bin"):
        if (folder / name).is_file():
            return state_of(folder / name)
    raise InputError(f"{folder}: has no adapter_model.safetensors")


def _of_layer(pattern: Mapping[str, int] | None, layer: str, usual: int) -> int:
    """The entry of `pattern` that names `layer` by its end, else `usual`."""
    for name, value in (pattern or {}).items():
        if re.search(rf"(^|\.)(?:{name})$", layer):
            return value
    return usual
