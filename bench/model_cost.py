"""What encoders of published sizes cost on a processor: seconds of processor time for a picture and a text.

The models have the published shapes (`SHAPES`: layers, widths, patches) and random weights: what a pass costs
does not depend on what the weights are. Timed is the pass alone, of a batch of pictures that are ready and of
texts of full length; reading and preparing pictures comes on top. Processor time is that of all threads
together, so a processor with N free cores takes about an Nth of it.

    python bench/model_cost.py [--batch 4] [--rounds 3]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
import transformers as hf

PICTURES, TEXTS = 3_600, 261_000
"""Images and captions of Crossmodal-3600."""


def clip(vision: Sequence[int], text: Sequence[int], patch: int) -> Any:
    """A CLIP; `vision` and `text` are (layers, width, heads), pictures have 224 pixels a side."""
    return hf.CLIPModel(
        hf.CLIPConfig(
            vision_config=_tower(vision) | {"patch_size": patch, "image_size": 224},
            text_config=_tower(text) | {"max_position_embeddings": 77},
        )
    )


def siglip(layers: int, width: int, heads: int) -> Any:
    """A SigLIP 2 of patches of 16 in pictures of 224 pixels, its texts filled up to 64 of 256,000 tokens."""
    tower = _tower((layers, width, heads))
    return hf.SiglipModel(
        hf.SiglipConfig(
            vision_config=tower | {"patch_size": 16, "image_size": 224},
            text_config=tower | {"vocab_size": 256_000, "max_position_embeddings": 64},
        )
    )


SHAPES: dict[str, tuple[Callable[[], Any], int]] = {
    "CLIP ViT-B/32": (lambda: clip((12, 768, 12), (12, 512, 8), 32), 77),
    "CLIP ViT-L/14": (lambda: clip((24, 1024, 16), (12, 768, 12), 14), 77),
    "SigLIP 2 B/16, 224": (lambda: siglip(12, 768, 12), 64),
}
"""Models by name, and the tokens of a text."""


def _tower(shape: Sequence[int]) -> dict[str, int]:
    layers, width, heads = shape
    return {
        "num_hidden_layers": layers,
        "hidden_size": width,
        "intermediate_size": 4 * width,
        "num_attention_heads": heads,
    }


def seconds(work: Callable[[], Any], items: int, rounds: int) -> float:
    """The median processor time of an item; the first round is not counted."""
    times = []
    for _ in range(rounds + 1):
        began = time.process_time()
        work()
        times.append((time.process_time() - began) / items)
    return statistics.median(times[1:])


def main() -> None:
    """Time each model and print a row of a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)  # threads that wait for each other would count as work
    print("| model | a picture | a text | Crossmodal-3600 |\n|---|---|---|---|")
    for name, (build, tokens) in SHAPES.items():
        model = build().eval()
        pictures = torch.zeros(options.batch, 3, 224, 224)
        texts = torch.ones(options.batch, tokens, dtype=torch.long)
        with torch.inference_mode():
            see = partial(model.get_image_features, pixel_values=pictures)
            read = partial(model.get_text_features, input_ids=texts)
            of_picture, of_text = (seconds(work, options.batch, options.rounds) for work in (see, read))
        hours = (PICTURES * of_picture + TEXTS * of_text) / 3600
        print(f"| {name} | {of_picture:.3f} s | {of_text:.3f} s | {hours:.1f} h |", flush=True)


if __name__ == "__main__":
    main()
