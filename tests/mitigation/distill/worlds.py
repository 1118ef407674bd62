"""A little world of pictures with captions in English and German, and tiny text models of real classes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import transformers as hf

from tests.mitigation.finetune.worlds import draw
from tests.subjects.encoders import tiny
from tests.subjects.encoders.vocabularies import bert_tokenizer, xlmr_tokenizer

WORDS = {
    "en": ("dog", "sofa", "cat", "house", "tree", "car", "bird", "fish", "bread", "shoe", "lamp", "door"),
    "de": (
        "Hund",
        "Sofa",
        "Katze",
        "Haus",
        "Baum",
        "Auto",
        "Vogel",
        "Fisch",
        "Brot",
        "Schuh",
        "Lampe",
        "Tür",
    ),
}
IMAGES = len(WORDS["en"])


def world(folder: Path, texts: list[tuple[str, str, str, str]] | None = None) -> str:
    """The name of a benchmark with a caption of each image in each language, or with these texts."""
    files = draw(folder, IMAGES)
    pl.DataFrame({"id": files, "path": files}).write_csv(folder / "images.csv")
    said = texts or [
        (f"{code}{row}", word, code, files[row]) for code in WORDS for row, word in enumerate(WORDS[code])
    ]
    columns = ["id", "text", "language", "image_id"]
    pl.DataFrame(said, schema=columns, orient="row").write_csv(folder / "texts.csv")
    return f"folder:{folder}"


def files(folder: Path) -> str:
    """The same words as files of parallel lines."""
    folder.mkdir(parents=True, exist_ok=True)
    for code, words in WORDS.items():
        (folder / f"w.{code}").write_text("\n".join(words) + "\n")
    return ",".join(f"{code}={folder / f'w.{code}'}" for code in WORDS)


def xlmr(folder: Path) -> Path:
    """XLM-R as it is released, for masked words: without a pooler."""
    tokenizer = xlmr_tokenizer()
    config = hf.XLMRobertaConfig(**tiny.TOWER, vocab_size=len(tokenizer), max_position_embeddings=66)
    return tiny.saved(folder, hf.XLMRobertaForMaskedLM(config), tokenizer)


def bert(folder: Path) -> Path:
    """Multilingual BERT, with two token types and a pooler that nothing reads."""
    tokenizer = bert_tokenizer()
    return tiny.saved(folder, hf.BertModel(hf.BertConfig(**tiny.TOWER, vocab_size=len(tokenizer))), tokenizer)


STUDENTS = {"xlmr": xlmr, "bert": bert}
SHORT: dict[str, Any] = {
    "forward": 4,
    "save_every": 3,
    "precision": "fp32",
    **{
        kind: {"batch": 8, "learning_rate": rate, "steps": 40}
        for kind, rate in (("model", 3e-3), ("tower", 3e-3), ("adapter", 1e-2), ("ngrams", 1e-2))
    },
}


def recipe(**changes: Any) -> dict[str, Any]:
    """A training of a second."""
    return SHORT | changes
