"""Tiny checkpoints of the real classes: random weights, tokenizers trained here, published layouts."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece
import torch
import transformers as hf
from PIL import Image
from safetensors.torch import save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

TEXTS = [
    "a dog",
    "",
    "ein Hund schläft auf dem roten Sofa neben dem Fenster, während draußen der Regen fällt",
    "mbwa analala",
    "犬が眠っている",
    "कुत्ता सो रहा है",
    "🐕‍🦺🛋️",
    "כלב ישן on a sofa",
    "word " * 300,
]
CORPUS = [
    *TEXTS,
    "the quick brown fox jumps over the lazy dog",
    "Describe the image.",
    "Query: Question: Passage:",
]


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


def byte_level(special: Sequence[str], size: int = 400) -> Tokenizer:
    """A byte-level BPE tokenizer, as GPT-2 and Qwen use: it knows every text."""
    made = Tokenizer(models.BPE())
    made.normalizer = normalizers.NFC()
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        CORPUS,
        trainers.BpeTrainer(vocab_size=size, special_tokens=list(special), initial_alphabet=sorted(alphabet)),
    )
    return made


def clip_tokenizer() -> Any:
    """CLIP's tokenizer over bytes and a few merges."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocab = letters + [letter + "</w>" for letter in letters] + ["do", "dog</w>"]
    vocab += ["<|startoftext|>", "<|endoftext|>"]
    return hf.CLIPTokenizer(
        vocab={token: index for index, token in enumerate(vocab)},
        merges=[("d", "o"), ("do", "g</w>")],
        model_max_length=77,
    )


def bert_tokenizer() -> Any:
    """BERT's word pieces."""
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    made.train_from_iterator(CORPUS, trainers.WordPieceTrainer(vocab_size=300, special_tokens=special))
    return hf.BertTokenizer(vocab=made.get_vocab(), model_max_length=64)


def xlmr_tokenizer() -> Any:
    """XLM-R's unigram pieces; ids 0 to 3 are begin, filler, end and unknown, as in the published one."""
    made = Tokenizer(models.Unigram())
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    made.train_from_iterator(
        CORPUS, trainers.UnigramTrainer(vocab_size=200, special_tokens=special, unk_token="<unk>")
    )
    scores = {token: -float(index) / 50 for token, index in made.get_vocab().items()}
    pieces = [(token, 0.0) for token in special]
    pieces += [(token, scores[token]) for token in sorted(scores) if token not in special]
    return hf.XLMRobertaTokenizer(vocab=[*pieces, ("<mask>", 0.0)], model_max_length=512)


def spiece(folder: Path, **settings: Any) -> Path:
    """A sentencepiece model file, as SigLIP's tokenizer reads."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(text for text in CORPUS if text),
        model_writer=model,
        vocab_size=150,
        hard_vocab_limit=False,
        minloglevel=2,
        **settings,
    )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "spiece.model").write_bytes(model.getvalue())
    return folder / "spiece.model"


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


def siglip(folder: Path) -> Path:
    tokenizer = hf.SiglipTokenizer(str(spiece(folder)), model_max_length=64)
    text = {**TOWER, "vocab_size": 200, "max_position_embeddings": 64, "projection_size": 32}
    text |= {"bos_token_id": 1, "eos_token_id": 1, "pad_token_id": 0}
    config = hf.SiglipConfig(text_config=text, vision_config=VISION)
    images = hf.SiglipImageProcessorPil(size=SIDE)
    return saved(folder, hf.SiglipModel(config), hf.SiglipProcessor(images, tokenizer))


def siglip2(folder: Path) -> Path:
    special = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>"]
    trained = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True))
    trained.pre_tokenizer = pre_tokenizers.Metaspace()
    bytes_ = [f"<0x{byte:02X}>" for byte in range(256)]
    trained.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=450, special_tokens=special + bytes_))
    state = json.loads(trained.to_str())["model"]
    merges = [tuple(merge) for merge in state["merges"]]
    tokenizer = hf.Siglip2Tokenizer(vocab=state["vocab"], merges=merges, padding_side="right")
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="$A <eos>", special_tokens=[("<eos>", tokenizer.eos_token_id)]
    )
    text = {**TOWER, "vocab_size": len(tokenizer), "max_position_embeddings": 64, "projection_size": 32}
    text |= {"bos_token_id": 1, "eos_token_id": 1, "pad_token_id": 0}
    vision = {**TOWER, "patch_size": 8, "num_patches": 16}
    config = hf.Siglip2Config(text_config=text, vision_config=vision)
    images = hf.Siglip2ImageProcessorPil(patch_size=8, max_num_patches=16)
    return saved(folder, hf.Siglip2Model(config), hf.Siglip2Processor(images, tokenizer))


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
    settings = {"model_cfg": {"embed_dim": 16}, "preprocess_cfg": colours}
    (folder / "open_clip_config.json").write_text(json.dumps(settings))
    return folder


ALL = {**DUAL, "mclip": mclip, "open_clip": open_clip}


def build(make: Callable[[Path], Path], folder: Path) -> Path:
    """Make one checkpoint with weights that are the same each time."""
    torch.manual_seed(0)
    return make(folder)
