"""Tiny causal language models of the real classes, with a tokenizer trained here, and a little world."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch
import transformers as hf
from tokenizers import decoders, processors

from equiview.data.items import Items
from equiview.mitigation.connector.examples import Examples
from equiview.mitigation.connector.settings import ConnectorSettings
from tests.subjects.encoders.vocabularies import byte_level

COLOURS = ("red", "green", "blue", "grey")
SAID = tuple(f"it is {colour}" for colour in COLOURS)
ENDING = "<|endoftext|>"
SIZES: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 128,
    "initializer_range": 0.2,
}
KINDS = {
    "gpt_neox": (hf.GPTNeoXConfig, hf.GPTNeoXForCausalLM, {}),
    "llama": (hf.LlamaConfig, hf.LlamaForCausalLM, {"num_key_value_heads": 2}),
    "qwen2": (hf.Qwen2Config, hf.Qwen2ForCausalLM, {"num_key_value_heads": 2}),
}


def tokenizer(begins: bool = False) -> Any:
    """A byte-level tokenizer that knows every text; with `begins` it puts a mark first, as Llama's does."""
    raw = byte_level([ENDING, "<s>"])
    raw.decoder = decoders.ByteLevel()
    if begins:
        mark = ("<s>", raw.token_to_id("<s>"))
        raw.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[mark])
    named = {"bos_token": "<s>"} if begins else {}
    return hf.PreTrainedTokenizerFast(tokenizer_object=raw, eos_token=ENDING, pad_token=ENDING, **named)


def language_model(folder: Path, kind: str = "llama", **changes: Any) -> Path:
    """A checkpoint of random weights, the same each time."""
    words = tokenizer(begins=kind == "llama")
    config, model, more = KINDS[kind]
    torch.manual_seed(0)
    ids = {"bos_token_id": words.bos_token_id, "eos_token_id": words.eos_token_id, "pad_token_id": None}
    made = model(config(**{**SIZES, **more, **ids, "vocab_size": len(words), **changes}))
    made.save_pretrained(folder)
    words.save_pretrained(folder)
    return folder


def taught(folder: Path) -> Path:
    """A language model that was taught the sentences of the world, so that a connector has only to choose."""
    language_model(folder, "gpt_neox")
    words = hf.AutoTokenizer.from_pretrained(folder)
    model = hf.GPTNeoXForCausalLM.from_pretrained(folder)
    texts = [f"{start} = {said}{ENDING}" for start in ("see", "which colour?") for said in SAID]
    batch = words(texts, return_tensors="pt", padding=True, padding_side="right", return_token_type_ids=False)
    labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(150):
        model(**batch, labels=labels).loss.backward()
        optimiser.step()
        optimiser.zero_grad()
    model.save_pretrained(folder)
    return folder


SHORT: dict[str, Any] = {
    "tokens": 2,
    "template": "{image}{prompt} =",
    "caption_prompt": "see",
    "question_prompt": "{question}",
    "forward": 4,
    "save_every": 3,
    "captions": {"batch": 8, "learning_rate": 1e-2, "steps": 8},
    "questions": {"batch": 4, "learning_rate": 1e-3, "steps": 6},
}


def settings(**changes: Any) -> ConnectorSettings:
    """A training of seconds."""
    return ConnectorSettings.of(SHORT | changes)


def world(folder: Path, n: int = 24) -> Path:
    """Images of four colours as vectors and tables, captions of each, and files of questions and captions."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    colours = [COLOURS[row % 4] for row in range(n)]
    vectors = np.eye(4, 8)[[row % 4 for row in range(n)]] + 0.1 * rng.normal(size=(n, 8))
    names = [f"i{row}" for row in range(n)]
    texts = {"id": [f"t{row}" for row in range(n)], "text": [f"it is {colour}" for colour in colours]}
    pl.DataFrame({"id": names}).write_csv(folder / "images.csv")
    pl.DataFrame(texts | {"language": "en", "image_id": names}).write_csv(folder / "texts.csv")
    np.save(folder / "images.npy", vectors.astype(np.float32))
    np.save(folder / "texts.npy", np.ones((n, 8), dtype=np.float32))
    rows = [
        {"image": name, "question": "which colour?", "answer": colour}
        for name, colour in zip(names, colours, strict=True)
    ]
    (folder / "questions.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder


def images(n: int = 24) -> Items:
    """The images of the world."""
    return Items("image", pl.DataFrame({"id": [f"i{row}" for row in range(n)]}))


def questions(n: int = 24) -> Examples:
    """What is asked of them."""
    table = {"image": range(n), "prompt": "which colour?", "answer": [COLOURS[row % 4] for row in range(n)]}
    return Examples("colours", images(n), pl.DataFrame(table))


def captions(n: int = 24) -> Examples:
    """Captions of them."""
    table = {"image": range(n), "prompt": "see", "answer": [SAID[row % 4] for row in range(n)]}
    return Examples("captions", images(n), pl.DataFrame(table))
