"""Tiny checkpoints of real classes that answer and caption: random weights, tokenizers trained here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import transformers as hf

from tests.subjects.encoders.tiny import SIDE, TOWER, VISION, saved
from tests.subjects.encoders.vocabularies import bert_tokenizer, byte_level

BLIP_IDS = {"bos_token_id": 2, "pad_token_id": 0, "eos_token_id": 3, "sep_token_id": 3}


def _blip_config(n_tokens: int) -> Any:
    text = {**TOWER, **BLIP_IDS, "vocab_size": n_tokens, "max_position_embeddings": 64}
    text |= {"encoder_hidden_size": 32, "is_decoder": True}
    return hf.BlipConfig(text_config=text, vision_config=VISION, projection_dim=16, image_text_hidden_size=16)


def blip_caption(folder: Path) -> Path:
    tokenizer = bert_tokenizer()
    processor = hf.BlipProcessor(hf.BlipImageProcessorPil(size=SIDE), tokenizer)
    return saved(folder, hf.BlipForConditionalGeneration(_blip_config(len(tokenizer))), processor)


def blip_vqa(folder: Path) -> Path:
    tokenizer = bert_tokenizer()
    processor = hf.BlipProcessor(hf.BlipImageProcessorPil(size=SIDE), tokenizer)
    return saved(folder, hf.BlipForQuestionAnswering(_blip_config(len(tokenizer))), processor)


def vilt(folder: Path) -> Path:
    tokenizer = bert_tokenizer()
    answers = {0: "yes", 1: "no", 2: "dog", 3: "2"}
    config = hf.ViltConfig(
        **TOWER, vocab_size=len(tokenizer), image_size=32, patch_size=8, max_image_length=-1,
        id2label=answers,
        label2id={answer: place for place, answer in answers.items()},
    )  # fmt: skip
    images = hf.ViltImageProcessorPil(size={"shortest_edge": 32}, size_divisor=8)
    return saved(folder, hf.ViltForQuestionAnswering(config), hf.ViltProcessor(images, tokenizer))


def git(folder: Path) -> Path:
    tokenizer = bert_tokenizer()
    ids = {"bos_token_id": 2, "eos_token_id": 3, "pad_token_id": 0}
    config = hf.GitConfig(vision_config=VISION, **TOWER, **ids, vocab_size=len(tokenizer))
    images = hf.CLIPImageProcessorPil(size={"shortest_edge": 32}, crop_size=SIDE)
    return saved(folder, hf.GitForCausalLM(config), hf.GitProcessor(images, tokenizer))


def blip2(folder: Path) -> Path:
    special = ["<pad>", "<s>", "</s>", "<image>"]
    tokenizer = hf.PreTrainedTokenizerFast(
        tokenizer_object=byte_level(special), pad_token="<pad>", bos_token="<s>", eos_token="</s>",
        additional_special_tokens=["<image>"],
    )  # fmt: skip
    text = hf.OPTConfig(
        hidden_size=32, ffn_dim=48, num_hidden_layers=2, num_attention_heads=4, word_embed_proj_dim=32,
        vocab_size=len(tokenizer), max_position_embeddings=128, pad_token_id=0, bos_token_id=1,
        eos_token_id=2, init_std=0.2,
    )  # fmt: skip
    asking = hf.Blip2QFormerConfig(
        **TOWER, vocab_size=10, encoder_hidden_size=32, cross_attention_frequency=1
    )
    config = hf.Blip2Config(
        vision_config=hf.Blip2VisionConfig(**VISION).to_dict(), qformer_config=asking.to_dict(),
        text_config=text.to_dict(), num_query_tokens=4, image_token_index=3,
    )  # fmt: skip
    images = hf.BlipImageProcessorPil(size=SIDE)
    processor = hf.Blip2Processor(images, tokenizer, num_query_tokens=4)
    return saved(folder, hf.Blip2ForConditionalGeneration(config), processor)


CAPTIONERS: dict[str, Callable[[Path], Path]] = {"blip_caption": blip_caption, "git": git, "blip2": blip2}
ANSWERERS: dict[str, Callable[[Path], Path]] = {
    "blip_vqa": blip_vqa,
    "vilt": vilt,
    "git": git,
    "blip2": blip2,
}
