"""A BERT that guesses who is shown from a caption, fine-tuned as by Hirota et al. (CVPR 2022)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equiview.audits.amplification.captions import MASK
from equiview.extras import require
from equiview.subjects.encoders.checkpoint import Checkpoint
from equiview.subjects.encoders.loading import from_files, tokenizer_of
from equiview.subjects.encoders.torch_encoder import chosen_device

BATCH, LONGEST = 64, 64
OPTIMISER: dict[str, Any] = {"lr": 1e-5, "betas": (0.9, 0.98), "eps": 1e-6, "weight_decay": 0.1}
"""Learning rate of the published run, as are batch and length; unlike its head, ours has no hidden layer."""


def classify(
    learnt: Sequence[str],
    labels: NDArray[np.int64],
    tested: Sequence[str],
    seed: int,
    *,
    checkpoint: str,
    epochs: int,
) -> NDArray[np.float64]:
    """Probabilities of each label, `(n_tested, n_labels)`, after `epochs` passes over the training texts.

    `checkpoint` is a folder or a name of the hub, with options as encoders have them (`device`). InputError
    when it cannot be loaded.
    """
    torch, hf = require("torch", "hf"), require("transformers", "hf")
    files = Checkpoint.find(checkpoint, "bert", extra="hf")
    device = chosen_device(files.options.get("device"), "bert", "hf")
    tokenizer = tokenizer_of(files, local_files_only=True)
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        kind = hf.AutoModelForSequenceClassification
        model = from_files(kind, files.folder, num_labels=len(np.unique(labels)), local_files_only=True)
        model = model.to(device).train()
        optimiser = torch.optim.AdamW(model.parameters(), **OPTIMISER)
        targets = torch.as_tensor(labels, device=device)
        for _ in range(epochs):
            for rows in _batches(torch.randperm(len(learnt)).tolist()):
                inputs = _inputs(tokenizer, [learnt[row] for row in rows], device)
                optimiser.zero_grad()
                model(**inputs, labels=targets[rows]).loss.backward()
                optimiser.step()
        model.eval()
        with torch.inference_mode():
            parts = [
                model(**_inputs(tokenizer, [tested[row] for row in rows], device)).logits.softmax(-1).cpu()
                for rows in _batches(range(len(tested)))
            ]
    return np.asarray(torch.cat(parts).double().numpy())


def _inputs(tokenizer: Any, texts: Sequence[str], device: Any) -> dict[str, Any]:
    texts = [text.replace(MASK, tokenizer.mask_token or MASK) for text in texts]
    encoded = tokenizer(texts, padding=True, truncation=True, max_length=LONGEST, return_tensors="pt")
    return {name: value.to(device) for name, value in encoded.items()}


def _batches(order: Sequence[int]) -> Iterator[Sequence[int]]:
    return (order[start : start + BATCH] for start in range(0, len(order), BATCH))
