"""What an accelerator does, by the clock: the product or the model alone, this package, and peers there.

The small size, which is there to see that it runs, takes the processor where there is no accelerator.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bench import encode
from bench import search as on_processor
from bench.contest import OURS, Contest, Way, as_it_is, largest_difference
from equiview.extras import accelerator
from equiview.search import Targets, topk
from equiview.search.device import QUERIES, ROWS, lists_and_ranks_on

Array = np.ndarray[Any, Any]
K = on_processor.K
MODELS = {
    "small": (1, 64, 64, 224, 32),
    "medium": (12, 768, 512, 224, 32),
    "full": (24, 1024, 768, 336, 14),
}
"""Layers, widths of both towers, pixels and patches: the latter two as ViT-B/32 and ViT-L/14 at 336."""


def device_for(size: str) -> str:
    """CUDA; of the small size the processor, where there is no CUDA."""
    if accelerator() == "cuda":
        return "cuda"
    if size != "small":
        raise SystemExit("no CUDA accelerator is here: only --small can be tried")
    return "cpu"


def finished(device: str) -> None:
    """Wait until the device has done what it was given."""
    if device == "cuda":
        torch.cuda.synchronize()


def search(size: str) -> Contest:
    """The best 100 of a gallery in this machine's memory, for each query."""
    device = device_for(size)
    n_queries, n_gallery, width = on_processor.SHAPES[size]
    queries, gallery = on_processor.vectors(n_queries, width), on_processor.vectors(n_gallery, width, 1)

    def product() -> None:
        asked = torch.from_numpy(queries).to(device)
        for first in range(0, n_gallery, ROWS):
            part = torch.from_numpy(gallery[first : first + ROWS]).to(device)
            for start in range(0, n_queries, QUERIES):
                torch.matmul(asked[start : start + QUERIES], part.T)
        finished(device)

    def of_torch() -> Array:
        asked, offered = torch.from_numpy(queries).to(device), torch.from_numpy(gallery).to(device)
        parts = [
            torch.topk(asked[start : start + QUERIES] @ offered.T, K).values
            for start in range(0, n_queries, QUERIES)
        ]
        return np.asarray(torch.cat(parts).cpu().numpy())

    none = Targets.none(n_gallery)
    ways = [
        Way("copies and product alone", product),
        Way(OURS, lambda: lists_and_ranks_on(device, queries, gallery, K, none)[0].scores, as_it_is),
        Way("torch, product and topk there", of_torch, as_it_is),
        Way("equiview on the processor", lambda: topk.top_k(queries, gallery, K).scores, as_it_is),
    ]
    work = f"exact best {K}, {n_queries:,} x {n_gallery:,} x {width}"
    unit = "largest difference of a score at its rank"
    return Contest(work, ways, largest_difference, 1e-5, unit, by_clock=True)


def maxsim(size: str) -> Contest:
    """The best by MaxSim, compared on the accelerator since torch is imported, and by the processor alone."""
    device_for(size)
    return replace(on_processor.late_lists(size), by_clock=True)


@contextlib.contextmanager
def pictures(size: str) -> Iterator[Contest]:
    """Encoding of pictures: the model alone has them ready on the device, the others read JPEG files."""
    encode.be_quiet()
    device, small = device_for(size), size == "small"
    batch, count = (4, 8) if small else (64, 1024)
    half = torch.float16 if device == "cuda" else torch.float32
    with tempfile.TemporaryDirectory() as place:
        folder, shown = Path(place) / "clip", Path(place) / "pictures"
        shown.mkdir()
        encode.checkpoint(folder, *MODELS[size])
        paths = encode.pictures(shown, count)
        bare = encode.Bare(folder)
        model = bare.model.to(device, half)
        ready = [bare.ready(part).to(device, half) for part in encode.batches(paths, batch)]

        def alone() -> Any:
            with torch.inference_mode():
                made = [model.get_image_features(pixel_values=part).pooler_output for part in ready]
                return torch.cat(made).float().cpu()

        ways = [
            Way("the model alone", alone, encode.unit),
            Way(OURS, partial(encode.ours(folder, batch, device)[0], paths), encode.unit),
        ]
        missing = []
        if importlib.util.find_spec("sentence_transformers") is None:
            missing.append("sentence-transformers")
        elif not small:
            peer = importlib.import_module("sentence_transformers").SentenceTransformer(
                str(folder), device=device, model_kwargs={"dtype": half}
            )
            files = [str(path) for path in paths]
            call = partial(peer.encode, files, batch_size=batch, show_progress_bar=False)
            ways.append(Way("sentence-transformers", call, encode.unit))
        layers, width, _, pixels, patch = MODELS[size]
        work = (
            f"{count:,} pictures, batches of {batch}, a CLIP of random weights: {layers} layers, "
            f"{width} wide, of {pixels} pixels in patches of {patch}"
        )
        unit = "largest difference of a number"
        yield Contest(work, ways, largest_difference, 1e-4 if device == "cpu" else 5e-3, unit, missing, True)
