"""Losses over a batch of pairs: scores `(n, n)` of images (rows) with captions (columns).

Pairs are on the diagonal. `same` `(n, n)` is true where image and caption belong together: on the diagonal,
and where two pairs of a batch share an image or a caption. Such a caption is right, and is no counterexample.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def contrastive(scores: Tensor, same: Tensor) -> Tensor:
    """Cross entropy of each image's own caption and of each caption's own image, their mean (CLIP)."""
    scores = scores.masked_fill(_elsewhere(same), -torch.inf)
    target = torch.arange(len(scores), device=scores.device)
    return (functional.cross_entropy(scores, target) + functional.cross_entropy(scores.T, target)) / 2


def sigmoid(scores: Tensor, same: Tensor) -> Tensor:
    """A binary loss for each image with each caption, summed over captions (SigLIP, equation 1)."""
    own = torch.eye(len(scores), dtype=torch.bool, device=scores.device)
    each = functional.logsigmoid(torch.where(own, scores, -scores))
    return -each.masked_fill(_elsewhere(same), 0).sum() / len(scores)


def triplet(scores: Tensor, same: Tensor, margin: float) -> Tensor:
    """The margins that the hardest wrong caption and image of each pair violate, summed (VSE++, eq. 6)."""
    own = scores.diagonal()
    captions = (margin + scores - own[:, None]).clamp(min=0).masked_fill(same, 0)
    images = (margin + scores - own[None, :]).clamp(min=0).masked_fill(same, 0)
    return captions.max(dim=1).values.sum() + images.max(dim=0).values.sum()


def _elsewhere(same: Tensor) -> Tensor:
    """Images and captions of different pairs that belong together."""
    return same & ~torch.eye(len(same), dtype=torch.bool, device=same.device)
