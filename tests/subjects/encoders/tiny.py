"""Tiny checkpoints of the real classes: random weights, tokenizers trained here, published layouts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers as hf
from PIL import Image
from safetensors.torch import load_file, save_file
from tokenizers import processors

from tests.subjects.encoders.vocabularies import (
    TEXTS,  # noqa: F401 - the tests' texts
    bert_tokenizer,
    clip_tokenizer,
    gemma_vocabulary,
    qwen_tokenizer,
    spiece,
    xlmr_tokenizer,
)


def pictures() -> list[Image.Image]:
    """Pictures of several shapes, the last a single pixel."""
    rng = np.random.default_rng(0)
    sizes = [(48, 32), (32, 48), (64, 64), (40, 100), (1, 1)]
    return [Image.fromarray(rng.integers(0, 256, (*size, 3), dtype=np.uint8)) for size in sizes]


def saved(folder: Path, *parts: Any) -> Path:
    """Save every part to `folder`."""
    for part in parts:
        part.save_pretrained(folder)
    return folder


TOWER: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
}

TOWER["initializer_range"] = 0.2  # so that texts that differ end visibly apart
VISION = {**TOWER, "image_size": 32, "patch_size": 8}
SIDE = {"height": 32, "width": 32}


def clip(folder: Path) -> Path:
    tokenizer = clip_tokenizer()
    ids = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id, "pad_token_id": 1}
    text = {**TOWER, **ids, "vocab_size": len(tokenizer)}
    config = hf.CLIPConfig(text_config=text, vision_config=VISION, projection_dim=16)
    images = hf.CLIPImageProcessorPil(size={"shortest_edge": 32}, crop_size=SIDE)
    return saved(folder, hf.CLIPModel(config), hf.CLIPProcessor(images, tokenizer))


def chinese_clip(folder: Path) -> Path:
    tokenizer = bert_tokenizer()
    text = {**TOWER, "vocab_size": len(tokenizer), "max_position_embeddings": 64}
    config = hf.ChineseCLIPConfig(text_config=text, vision_config=VISION, projection_dim=16)
    images = hf.ChineseCLIPImageProcessorPil(size=SIDE, crop_size=SIDE)
    return saved(folder, hf.ChineseCLIPModel(config), tokenizer, images)


def bert(folder: Path) -> Path:
    tokenizer = bert_tokenizer()
    return saved(folder, hf.BertModel(hf.BertConfig(**TOWER, vocab_size=len(tokenizer))), tokenizer)


def siglip(folder: Path) -> Path:
    tokenizer = hf.SiglipTokenizer(str(spiece(folder)), model_max_length=64)
    text = {**TOWER, "vocab_size": 200, "max_position_embeddings": 64, "projection_size": 32}
    text |= {"bos_token_id": 1, "eos_token_id": 1, "pad_token_id": 0}
    config = hf.SiglipConfig(text_config=text, vision_config=VISION)
    images = hf.SiglipImageProcessorPil(size=SIDE)
    return saved(folder, hf.SiglipModel(config), hf.SiglipProcessor(images, tokenizer))


def siglip2(folder: Path) -> Path:
    text = {**TOWER, **GEMMA_IDS, "max_position_embeddings": 64, "projection_size": 32}
    tokenizer = closing(hf.Siglip2Tokenizer)
    vision = {**TOWER, "patch_size": 8, "num_patches": 16}
    config = hf.Siglip2Config(text_config={**text, "vocab_size": len(tokenizer)}, vision_config=vision)
    images = hf.Siglip2ImageProcessorPil(patch_size=8, max_num_patches=16)
    return saved(folder, hf.Siglip2Model(config), hf.Siglip2Processor(images, tokenizer))


def siglip2_fixed(folder: Path) -> Path:
    """SigLIP 2 of one picture size as it is published: SigLIP's configuration, Gemma's tokenizer."""
    tokenizer = closing(hf.GemmaTokenizer)
    text = {**TOWER, **GEMMA_IDS, "max_position_embeddings": 64, "projection_size": 32}
    config = hf.SiglipConfig(text_config={**text, "vocab_size": len(tokenizer)}, vision_config=VISION)
    images = hf.SiglipImageProcessorPil(size=SIDE)
    return saved(folder, hf.SiglipModel(config), images, tokenizer)


GEMMA_IDS = {"bos_token_id": 1, "eos_token_id": 1, "pad_token_id": 0}


def closing(kind: Any) -> Any:
    """A tokenizer over Gemma's kind of pieces that ends a text with `<eos>`, as SigLIP 2's does."""
    vocab, merges = gemma_vocabulary()
    tokenizer = kind(vocab=vocab, merges=merges, padding_side="right")
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="$A <eos>", special_tokens=[("<eos>", tokenizer.eos_token_id)]
    )
    return tokenizer


def altclip(folder: Path) -> Path:
    tokenizer = xlmr_tokenizer()
    text = {**TOWER, "vocab_size": len(tokenizer), "max_position_embeddings": 66, "project_dim": 24}
    text |= {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
    config = hf.AltCLIPConfig(text_config=text, vision_config=VISION, projection_dim=16)
    images = hf.CLIPImageProcessorPil(size={"shortest_edge": 32}, crop_size=SIDE)
    return saved(folder, hf.AltCLIPModel(config), hf.AltCLIPProcessor(images, tokenizer))


def blip(folder: Path) -> Path:
    tokenizer = bert_tokenizer()
    ids = {"bos_token_id": 2, "pad_token_id": 0, "eos_token_id": 3, "sep_token_id": 3}
    text = {
        **TOWER,
        **ids,
        "vocab_size": len(tokenizer),
        "max_position_embeddings": 64,
        "encoder_hidden_size": 32,
    }
    config = hf.BlipConfig(
        text_config=text, vision_config=VISION, projection_dim=16, image_text_hidden_size=16
    )
    images = hf.BlipImageProcessorPil(size=SIDE)
    return saved(folder, hf.BlipForImageTextRetrieval(config), hf.BlipProcessor(images, tokenizer))


DUAL: dict[str, Callable[[Path], Path]] = {
    "clip": clip,
    "chinese_clip": chinese_clip,
    "siglip": siglip,
    "siglip2": siglip2,
    "siglip2_fixed": siglip2_fixed,
    "altclip": altclip,
    "blip": blip,
}


def mclip(folder: Path) -> Path:
    """M-CLIP's layout: `transformer.*` and `LinearTransformation.*` in a pickle, the tokenizer beside it."""
    tokenizer = xlmr_tokenizer()
    ids = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
    sizes = {**TOWER, "hidden_size": 128, "num_attention_heads": 2, "max_position_embeddings": 66}
    config = hf.XLMRobertaConfig(
        **sizes, **ids, vocab_size=len(tokenizer), type_vocab_size=1, layer_norm_eps=1e-5
    )
    body = hf.XLMRobertaModel(config).state_dict()
    head = torch.nn.Linear(128, 16).state_dict()
    state = {f"transformer.{name}": value for name, value in body.items()}
    state |= {f"LinearTransformation.{name}": value for name, value in head.items()}
    saved(folder, tokenizer)
    torch.save(state, folder / "pytorch_model.bin")
    stated = {
        "model_type": "M-CLIP",
        "modelBase": "xlm-roberta-large",
        "numDims": 16,
        "transformerDimensions": 128,
        "num_attention_heads": 2,
    }
    (folder / "config.json").write_text(json.dumps(stated))
    return folder


def open_clip_state(width: int = 128, layers: int = 2, out: int = 16) -> dict[str, torch.Tensor]:
    """An image tower under OpenCLIP's names: pictures of 32, patches of 8."""
    state = {
        "visual.class_embedding": torch.randn(width),
        "visual.positional_embedding": torch.randn(17, width),
        "visual.proj": torch.randn(width, out) / 4,
        "visual.conv1.weight": torch.randn(width, 3, 8, 8) / 8,
        "logit_scale": torch.tensor(4.6),
    }
    for norm in ("ln_pre", "ln_post"):
        state |= _normed(f"visual.{norm}", width)
    for layer in range(layers):
        block = f"visual.transformer.resblocks.{layer}"
        for name, rows, columns in (
            ("attn.in_proj_", 3 * width, width),
            ("attn.out_proj.", width, width),
            ("mlp.c_fc.", 2 * width, width),
            ("mlp.c_proj.", width, 2 * width),
        ):
            state[f"{block}.{name}weight"] = torch.randn(rows, columns) / 10
            state[f"{block}.{name}bias"] = torch.randn(rows) / 10
        state |= _normed(f"{block}.ln_1", width) | _normed(f"{block}.ln_2", width)
    return state


def _normed(name: str, width: int) -> dict[str, torch.Tensor]:
    return {f"{name}.weight": 1 + torch.randn(width) / 10, f"{name}.bias": torch.randn(width) / 10}


def open_clip(folder: Path) -> Path:
    """OpenCLIP's layout on the hub."""
    folder.mkdir(parents=True, exist_ok=True)
    save_file(open_clip_state(), folder / "open_clip_model.safetensors")
    colours = {"mean": [0.5, 0.5, 0.5], "std": [0.25, 0.25, 0.25]}
    sizes = {"embed_dim": 16, "vision_cfg": {"width": 128, "layers": 2, "image_size": 32, "patch_size": 8}}
    settings = {"model_cfg": sizes, "preprocess_cfg": colours}
    (folder / "open_clip_config.json").write_text(json.dumps(settings))
    return folder


def qwen_images() -> Any:
    """Qwen's image preprocessing, up to 28 tokens a picture."""
    return hf.Qwen2VLImageProcessorPil(min_pixels=56 * 56, max_pixels=28 * 28 * 28)


def qwen_ids(tokenizer: Any) -> dict[str, int]:
    marks = {"image_token_id": "image_pad", "video_token_id": "video_pad"}
    marks |= {"vision_start_token_id": "vision_start", "vision_end_token_id": "vision_end"}
    return {name: tokenizer.convert_tokens_to_ids(f"<|{mark}|>") for name, mark in marks.items()}


def qwen_text(tokenizer: Any) -> dict[str, Any]:
    scaling = {"rope_type": "default", "mrope_section": [1, 1, 2], "rope_theta": 10000.0}
    return {
        **{**TOWER, "num_key_value_heads": 2, "vocab_size": len(tokenizer), "rope_parameters": scaling},
        **{"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0, "max_position_embeddings": 4096},
    }


def qwen2_vl_config(tokenizer: Any) -> Any:
    vision = {
        "depth": 2,
        "embed_dim": 16,
        "hidden_size": 32,
        "num_heads": 2,
        "mlp_ratio": 2,
        "patch_size": 14,
    }
    return hf.Qwen2VLConfig(
        text_config=qwen_text(tokenizer),
        vision_config=vision,
        **qwen_ids(tokenizer),
        tie_word_embeddings=True,
    )


def qwen25_vl_config(tokenizer: Any) -> Any:
    vision = {"depth": 2, "hidden_size": 16, "out_hidden_size": 32, "num_heads": 2, "intermediate_size": 24}
    vision |= {"patch_size": 14, "fullatt_block_indexes": [1], "window_size": 56}
    return hf.Qwen2_5_VLConfig(
        text_config=qwen_text(tokenizer),
        vision_config=vision,
        **qwen_ids(tokenizer),
        tie_word_embeddings=True,
    )


def gme(folder: Path) -> Path:
    tokenizer = qwen_tokenizer()
    model = hf.Qwen2VLForConditionalGeneration(qwen2_vl_config(tokenizer))
    return saved(folder, model, tokenizer, qwen_images())


def qwen25_base(folder: Path) -> Path:
    """Qwen2.5-VL with the projection of ColQwen2.5 beside it, as the base of its adapters is published."""
    tokenizer = qwen_tokenizer()
    model = hf.Qwen2_5_VLForConditionalGeneration(qwen25_vl_config(tokenizer))
    saved(folder, model, tokenizer, qwen_images())
    state = load_file(folder / "model.safetensors")
    head = torch.nn.Linear(32, 8).state_dict()
    state |= {f"custom_text_proj.{name}": value for name, value in head.items()}
    save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


QWEN_CHAT = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<|vision_start|><|image_pad|><|vision_end|>"
    "{% elif 'text' in part %}{{ part['text'] }}{% endif %}{% endfor %}{% endif %}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""Qwen2.5-VL's chat template, without its videos and numbered pictures."""


def qwen25_chat(folder: Path) -> Path:
    """Qwen2.5-VL as it is talked to, with its chat template."""
    tokenizer = qwen_tokenizer()
    model = hf.Qwen2_5_VLForConditionalGeneration(qwen25_vl_config(tokenizer))
    saved(folder, model, tokenizer, qwen_images())
    (folder / "chat_template.jinja").write_text(QWEN_CHAT)
    return folder


def lora(folder: Path, layers: dict[str, tuple[int, int]], mark: str = "", **settings: Any) -> None:
    """An adapter of rank 4 for layers of (inputs, outputs); `mark` stands between `lora_A` and `weight`."""
    folder.mkdir(parents=True, exist_ok=True)
    state = {}
    for name, (inputs, outputs) in layers.items():
        state[f"base_model.model.{name}.lora_A{mark}.weight"] = torch.randn(4, inputs)
        state[f"base_model.model.{name}.lora_B{mark}.weight"] = torch.randn(outputs, 4)
    save_file(state, folder / "adapter_model.safetensors", metadata={"format": "pt"})
    stated = {"peft_type": "LORA", "r": 4, "lora_alpha": 2, **settings}
    (folder / "adapter_config.json").write_text(json.dumps(stated))


LAYERS = {
    "model.layers.0.self_attn.q_proj": (32, 32),
    "model.layers.1.mlp.down_proj": (48, 32),
    "custom_text_proj": (32, 8),
}


def colqwen25(folder: Path) -> Path:
    """An adapter over the base in the folder `base`, tokenizer and preprocessing beside the adapter."""
    base = qwen25_base(folder / "base")
    lora(folder, LAYERS, base_model_name_or_path=str(base))
    return saved(folder, qwen_tokenizer(), qwen_images())


def jina_v4(folder: Path) -> Path:
    """Qwen2.5-VL, the projection, and one adapter with a part for each task."""
    tokenizer = qwen_tokenizer()
    model = hf.Qwen2_5_VLForConditionalGeneration(qwen25_vl_config(tokenizer))
    saved(folder, model, tokenizer, qwen_images())
    state = load_file(folder / "model.safetensors")
    head = torch.nn.Linear(32, 8).state_dict()
    state |= {f"multi_vector_projector.{name}": value for name, value in head.items()}
    save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
    layers = {"model.language_model.layers.0.self_attn.q_proj": (32, 32), "multi_vector_projector": (32, 8)}
    lora(folder / "adapters", layers, ".retrieval")
    retrieval = load_file(folder / "adapters" / "adapter_model.safetensors")
    lora(folder / "adapters", layers, ".code")
    both = retrieval | load_file(folder / "adapters" / "adapter_model.safetensors")
    save_file(both, folder / "adapters" / "adapter_model.safetensors")
    return folder


def colqwen2(folder: Path) -> Path:
    tokenizer = qwen_tokenizer()
    config = hf.ColQwen2Config(vlm_config=qwen2_vl_config(tokenizer), embedding_dim=8)
    return saved(folder, hf.ColQwen2ForRetrieval(config), hf.ColQwen2Processor(qwen_images(), tokenizer))


def colpali(folder: Path) -> Path:
    vocab, merges = gemma_vocabulary()
    tokenizer = hf.GemmaTokenizer(vocab=vocab, merges=merges, padding_side="right")
    images = hf.SiglipImageProcessorPil(size=SIDE)
    images.image_seq_length = 16
    processor = hf.ColPaliProcessor(images, tokenizer)
    text = {
        **TOWER,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "vocab_size": len(tokenizer),
        "model_type": "gemma",
    }
    text |= {"pad_token_id": 0, "eos_token_id": 1, "bos_token_id": 2}
    vision = {**VISION, "vision_use_head": False, "projection_dim": 32, "model_type": "siglip_vision_model"}
    vlm = hf.PaliGemmaConfig(
        text_config=text, vision_config=vision, projection_dim=32, image_token_index=processor.image_token_id
    )
    config = hf.ColPaliConfig(vlm_config=vlm, text_config=text, embedding_dim=8)
    return saved(folder, hf.ColPaliForRetrieval(config), processor)


ALL = {
    "colqwen2": colqwen2,
    "colpali": colpali,
    **DUAL,
    "mclip": mclip,
    "open_clip": open_clip,
    "gme": gme,
    "colqwen25": colqwen25,
    "jina_v4": jina_v4,
    "qwen25_chat": qwen25_chat,
}


def build(make: Callable[[Path], Path], folder: Path) -> Path:
    """Make one checkpoint with weights that are the same each time."""
    torch.manual_seed(0)
    return make(folder)
