"""Encoding with a small CLIP of random weights, beside a bare loop and beside libraries that do the same.

Pictures are JPEG files of mixed sizes, read from disk; texts have 3 to 70 tokens. Every contender reads the
same checkpoint and works in the same batches. The bare loop decodes, prepares and runs the model's forward
pass, one batch after the other and texts in their order: no sorting, no checks. sentence-transformers and
mteb run as their users run them, if installed.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import logging
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
import torch
import transformers as hf
from numpy.typing import NDArray
from PIL import Image

from bench.contest import OURS, Contest, Way, largest_difference
from equiview.data.items import Items
from equiview.subjects import Encoder, load_subject

Array = NDArray[Any]
BARE = "bare loop"
SIZES = ((320, 240), (640, 480), (480, 640), (1024, 683), (768, 1024), (500, 375))
SYLLABLES = [consonant + vowel for consonant in "bcdfghjklmnpqrstvwxz" for vowel in "aeiou"]


def checkpoint(
    folder: Path, layers: int, width: int, text_width: int, image: int = 224, patch: int = 32
) -> None:
    """A CLIP of ViT-B/32's kind, with its image preprocessing and a tokenizer of syllables."""
    letters = sorted({letter for syllable in SYLLABLES for letter in syllable})
    vocab = letters + [f"{letter}</w>" for letter in letters]
    vocab += SYLLABLES + [f"{syllable}</w>" for syllable in SYLLABLES] + ["<|startoftext|>", "<|endoftext|>"]
    merges = [(pair[0], pair[1] + end) for pair in SYLLABLES for end in ("", "</w>")]
    tokenizer = hf.CLIPTokenizer(
        vocab={token: index for index, token in enumerate(vocab)}, merges=merges, model_max_length=77
    )

    def tower(wide: int) -> dict[str, int]:
        heads = {"num_hidden_layers": layers, "num_attention_heads": wide // 64}
        return {**heads, "hidden_size": wide, "intermediate_size": 4 * wide}

    text = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id, "pad_token_id": 1}
    text |= {**tower(text_width), "vocab_size": len(tokenizer), "max_position_embeddings": 77}
    vision = {**tower(width), "image_size": image, "patch_size": patch}
    torch.manual_seed(0)
    model = hf.CLIPModel(hf.CLIPConfig(text_config=text, vision_config=vision, projection_dim=width))
    model.save_pretrained(folder)
    prepared = hf.CLIPImageProcessorPil(
        size={"shortest_edge": image}, crop_size={"height": image, "width": image}
    )
    hf.CLIPProcessor(prepared, tokenizer).save_pretrained(folder)


def pictures(folder: Path, count: int) -> list[Path]:
    """JPEG files: clouds of colour with some grain, as large as photographs on the web."""
    rng = np.random.default_rng(0)
    paths = [folder / f"{row:05}.jpg" for row in range(count)]
    for row, path in enumerate(paths):
        width, height = SIZES[row % len(SIZES)]
        clouds = Image.fromarray(rng.integers(0, 256, (9, 12, 3), dtype=np.uint8))
        smooth = np.asarray(clouds.resize((width, height), Image.Resampling.BICUBIC), dtype=np.int16)
        grain = rng.normal(0, 8, (height, width, 1)).astype(np.int16)
        Image.fromarray((smooth + grain).clip(0, 255).astype(np.uint8)).save(path, quality=88)
    return paths


def sentences(count: int) -> list[str]:
    """Distinct texts of 3 to 70 tokens, begin and end included: words of one to three syllables."""
    rng = np.random.default_rng(0)
    texts: dict[str, None] = {}
    while len(texts) < count:
        left, words = int(rng.integers(1, 69)), []
        while left:
            long = min(left, int(rng.integers(1, 4)))
            words.append("".join(rng.choice(SYLLABLES, long)))
            left -= long
        texts[" ".join(words)] = None
    return list(texts)


def batches(items: Sequence[Any], size: int) -> list[Sequence[Any]]:
    """`items` in parts of `size`."""
    return [items[start : start + size] for start in range(0, len(items), size)]


class Bare:
    """The loop that anybody would write."""

    def __init__(self, folder: Path) -> None:
        self.model = hf.AutoModel.from_pretrained(folder).eval()
        self.processor = hf.AutoImageProcessor.from_pretrained(folder, backend="pil")
        self.tokenizer = hf.AutoTokenizer.from_pretrained(folder)

    def images(self, paths: Sequence[Path], batch: int) -> Any:
        """Vectors of picture files."""
        vectors = []
        with torch.inference_mode():
            for part in batches(paths, batch):
                vectors.append(self.model.get_image_features(pixel_values=self.ready(part)).pooler_output)
        return torch.cat(vectors)

    def ready(self, paths: Sequence[Path]) -> Any:
        """What the model reads of picture files."""
        opened = [Image.open(path).convert("RGB") for path in paths]
        return self.processor(images=opened, return_tensors="pt")["pixel_values"]

    def texts(self, texts: Sequence[str], batch: int) -> Any:
        """Vectors of texts, each batch filled up to its longest."""
        vectors = []
        with torch.inference_mode():
            for part in batches(texts, batch):
                inputs = self.tokenizer(list(part), padding=True, truncation=True, return_tensors="pt")
                vectors.append(self.model.get_text_features(**inputs).pooler_output)
        return torch.cat(vectors)


def ours(
    folder: Path, image_batch: int, device: str = "cpu"
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """What encodes pictures and texts here."""
    subject = load_subject(f"hf:{folder},device={device},batch={image_batch}")
    assert isinstance(subject, Encoder)

    def images(paths: Sequence[Path]) -> Any:
        table = pl.DataFrame({"id": [path.name for path in paths], "path": [str(path) for path in paths]})
        return subject.embed(Items("image", table))

    def texts(sentences: Sequence[str]) -> Any:
        ids = [str(row) for row in range(len(sentences))]
        return subject.embed(Items("text", pl.DataFrame({"id": ids, "text": sentences, "language": "en"})))

    return images, texts


def sentence_transformers(folder: Path, image_batch: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """What encodes pictures and texts in sentence-transformers; it opens the files and sorts texts itself."""
    model = importlib.import_module("sentence_transformers").SentenceTransformer(str(folder), device="cpu")

    def images(paths: Sequence[Path]) -> Any:
        return model.encode([str(path) for path in paths], batch_size=image_batch, show_progress_bar=False)

    def texts(sentences: Sequence[str]) -> Any:
        return model.encode(list(sentences), batch_size=4 * image_batch, show_progress_bar=False)

    return images, texts


def mteb(folder: Path, image_batch: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """What encodes pictures and texts in mteb: its CLIP, with the loaders that its tasks make."""
    clip = importlib.import_module("mteb.models.model_implementations.clip_models").CLIPModel
    create = importlib.import_module("mteb._create_dataloaders").create_dataloader
    prompt = importlib.import_module("mteb.types").PromptType
    task = importlib.import_module("mteb").get_task("XM3600T2IRetrieval").metadata
    datasets = importlib.import_module("datasets")
    datasets.disable_progress_bars()
    model = clip(str(folder), None, device="cpu")

    def encode(rows: Any, role: Any, batch: int) -> Any:
        loader = create(rows, task_metadata=task, prompt_type=role, batch_size=batch)
        about = {"task_metadata": task, "hf_split": "test", "hf_subset": "default", "prompt_type": role}
        return model.encode(loader, **about, batch_size=batch, show_progress_bar=False)

    def images(paths: Sequence[Path]) -> Any:
        files = [str(path) for path in paths]
        rows = datasets.Dataset.from_dict({"id": files, "image": files})
        return encode(rows.cast_column("image", datasets.Image()), prompt.document, image_batch)

    def texts(sentences: Sequence[str]) -> Any:
        ids = [str(row) for row in range(len(sentences))]
        rows = datasets.Dataset.from_dict({"id": ids, "text": list(sentences)})
        return encode(rows, prompt.query, 4 * image_batch)

    return images, texts


OTHERS = {"sentence-transformers": sentence_transformers, "mteb": mteb}


def unit(vectors: Any) -> Array:
    """Vectors of length 1."""
    scaled: Array = np.array(vectors, dtype=np.float32)
    scaled /= np.linalg.norm(scaled, axis=1, keepdims=True)
    return scaled


def be_quiet() -> None:
    """Libraries ask no hub, and print neither warnings nor progress."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    hf.logging.disable_progress_bar()


@contextlib.contextmanager
def contest(size: str, what: Literal["pictures", "texts"]) -> Iterator[Contest]:
    """Encoding of pictures, or of texts."""
    be_quiet()
    small = size == "small"
    batch = 4 if small else 32
    with tempfile.TemporaryDirectory() as place:
        folder, shown = Path(place) / "clip", Path(place) / "pictures"
        shown.mkdir()
        checkpoint(folder, *((1, 64, 64) if small else (6, 384, 128)))
        of_images = what == "pictures"
        inputs: Sequence[Any] = (
            pictures(shown, 8 if small else 256) if of_images else sentences(16 if small else 2000)
        )
        bare, part = Bare(folder), batch if of_images else 4 * batch
        made: dict[str, Callable[[Sequence[Any]], Any]] = {
            BARE: partial(bare.images if of_images else bare.texts, batch=part),
            OURS: ours(folder, batch)[0 if of_images else 1],
        }
        missing = []
        for name, make in OTHERS.items():
            if importlib.util.find_spec(name.replace("-", "_")) is None:
                missing.append(name)
            elif not small:
                made[name] = make(folder, batch)[0 if of_images else 1]
        ways = [Way(name, partial(encode, inputs), unit) for name, encode in made.items()]
        work = f"{len(inputs):,} {what}, batches of {part}, a CLIP of random weights"
        yield Contest(work, ways, largest_difference, 1e-4, "largest difference of a number", missing)


def pictures_contest(size: str) -> contextlib.AbstractContextManager[Contest]:
    """Encoding of pictures."""
    return contest(size, "pictures")


def texts_contest(size: str) -> contextlib.AbstractContextManager[Contest]:
    """Encoding of texts."""
    return contest(size, "texts")
