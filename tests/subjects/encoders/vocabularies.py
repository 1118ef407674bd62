"""Tiny tokenizers of the real classes, trained on a few sentences."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import sentencepiece
import transformers as hf
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

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


def gemma_vocabulary() -> tuple[dict[str, int], list[tuple[str, ...]]]:
    """Gemma's kind of pieces: unknown characters fall back to bytes."""
    special = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>"]
    made = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True))
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    special += [f"<0x{byte:02X}>" for byte in range(256)]
    made.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=450, special_tokens=special))
    state = json.loads(made.to_str())["model"]
    return state["vocab"], [tuple(merge) for merge in state["merges"]]


def qwen_tokenizer() -> Any:
    """Qwen's tokenizer: bytes, a few merges, and its marks."""
    marks = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>"]
    marks += ["<|image_pad|>", "<|video_pad|>"]
    state = json.loads(byte_level([]).to_str())["model"]
    made = hf.Qwen2Tokenizer(vocab=state["vocab"], merges=[tuple(merge) for merge in state["merges"]])
    made.add_special_tokens({"additional_special_tokens": marks})
    return made
