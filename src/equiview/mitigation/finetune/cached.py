"""Gradients of a large batch in the memory of a small one (Gao et al., "GradCache", RepL4NLP 2021).

A contrastive loss needs the vectors of the whole batch, but the layers that made them only part by part.
First all vectors are made without gradients; then the loss, and its gradient for each vector; then the
vectors of each part once more, from the same random numbers, and their gradients are passed on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import torch
from torch import Tensor

P = TypeVar("P")
Vectors = tuple[Tensor, ...]


def cached_step(
    encode: Callable[[P], Vectors],
    loss: Callable[..., Tensor],
    parts: Sequence[P],
    backward: Callable[[Tensor], None],
    device: torch.device,
) -> tuple[Tensor, Vectors]:
    """Add up the gradients of `loss` over the vectors of all parts; returns the loss and the vectors.

    `encode` makes the vectors of a part, each tensor `(n, width)`; `loss` takes each of them for the whole
    batch. `backward` is the trainer's, which may scale. One part is a plain step.
    """
    if len(parts) == 1:
        vectors = encode(parts[0])
        value = loss(*vectors)
        backward(value)
        return value.detach(), tuple(tensor.detach() for tensor in vectors)
    states = []
    pieces: list[Vectors] = []
    with torch.no_grad():
        for part in parts:
            states.append(_random_state(device))
            pieces.append(encode(part))
    whole = tuple(torch.cat(column).requires_grad_() for column in zip(*pieces, strict=True))
    value = loss(*whole)
    backward(value)
    after, start = _random_state(device), 0
    for part, state, piece in zip(parts, states, pieces, strict=True):
        rows = slice(start, start := start + len(piece[0]))
        _restore(*state, device)
        again = [
            (tensor, _gradient(of_all)[rows])
            for tensor, of_all in zip(encode(part), whole, strict=True)
            if tensor.requires_grad  # all layers of one side may be frozen
        ]
        torch.autograd.backward(*map(list, zip(*again, strict=True)))  # the gradients are scaled already
    _restore(*after, device)
    return value.detach(), tuple(tensor.detach() for tensor in whole)


def _gradient(tensor: Tensor) -> Tensor:
    return torch.zeros_like(tensor) if tensor.grad is None else tensor.grad


def _random_state(device: torch.device) -> tuple[Tensor, Tensor | None]:
    """The states of the random number generators of the processor and of an accelerator."""
    other = None if device.type == "cpu" else torch.get_device_module(device).get_rng_state()
    return torch.get_rng_state(), other


def _restore(processor: Tensor, accelerator: Tensor | None, device: torch.device) -> None:
    torch.set_rng_state(processor)
    if accelerator is not None:
        torch.get_device_module(device).set_rng_state(accelerator)
