"""How alike spaces of different models are: the cosine of their pairwise cosines (S, section 4.4).

Of each model the cosines of all D (D - 1) / 2 pairs of images are a vector, and two models are as alike as
the cosine of theirs. These vectors need not be written down: with unit rows X and Y, the sum over all pairs,
a pair with itself included, of (x_a . x_b)(y_a . y_b) is the squared Frobenius norm of X' Y, which has the
widths of the models and not the number of images. Less the D pairs of an image with itself, and halved, it
is the product of the two vectors. It takes the room of a block of columns by a width.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equiview.errors import InputError
from equiview.stats import student_interval

BLOCK = 256
"""Columns at a time."""


def similarity(
    spaces: Sequence[NDArray[np.float32]], names: Sequence[str], block: int = BLOCK, *, centred: bool = False
) -> NDArray[np.float64]:
    """How alike spaces are, `(n_spaces, n_spaces)`; each space is `(n_images, width)`, rows the same images.

    With `centred` (ours) each model's cosines are taken less their mean: Pearson's correlation in place of
    the cosine. Where all images of a model lie in one direction all its cosines are large, and two such
    models are alike by the cosine whatever they hold of single images.

    InputError for spaces of different images, fewer than 3 images, and a space whose cosines are all 0, or
    with `centred` all the same, which has nothing to compare.

    >>> space = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> similarity([space, space[:, ::-1]], ["a", "b"]).round(6).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    sizes = {len(space) for space in spaces}
    if len(sizes) > 1 or min(sizes) < 3:
        said = ", ".join(map(str, sorted(sizes)))
        raise InputError(f"spaces of {said} images; all must be of the same, 3 or more")
    units = [_unit(space) for space in spaces]
    products = np.empty((len(units), len(units)))
    for first in range(len(units)):
        for second in range(first, len(units)):
            products[first, second] = products[second, first] = _product(units[first], units[second], block)
    images = sizes.pop()
    if centred:
        sums = np.array([(np.square(unit.sum(axis=0)).sum() - images) / 2 for unit in units])
        products -= np.outer(sums, sums) / (images * (images - 1) / 2)
    norms = np.diag(products)
    if (flat := np.flatnonzero(norms <= 1e-9 * images)).size:
        alike = "have the same cosine" if centred else "are at right angles to each other"
        raise InputError(f"{names[flat[0]]}: all images {alike}; nothing can be compared")
    return np.asarray(np.clip(products / np.sqrt(np.outer(norms, norms)), -1.0, 1.0))


def _unit(space: NDArray[np.float32]) -> NDArray[np.float64]:
    rows = np.asarray(space, dtype=np.float64)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def _product(x: NDArray[np.float64], y: NDArray[np.float64], block: int) -> float:
    """Sum over pairs of different images of the product of their cosines in either space."""
    columns = range(0, x.shape[1], block)
    total = sum(float(np.square(x[:, start : start + block].T @ y).sum()) for start in columns)
    return (total - len(x)) / 2


def upper(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """The entries above the diagonal, `(n (n - 1) / 2,)`."""
    return np.asarray(matrix[np.triu_indices(len(matrix), 1)])


def jackknifed(matrix: NDArray[np.float64], statistic: str) -> dict[str, float]:
    """Mean or standard deviation (`mean`, `sd`) over pairs of models, with a 95% interval over models.

    A model takes part in many pairs, so each model is left out in turn: the interval has the width of
    Student's of the jackknife's pseudo-values (Tukey, 1958), around the value. For fewer than 4 models its
    ends are nan.
    """
    functions: dict[str, Callable[[NDArray[np.float64]], Any]] = {"mean": np.mean, "sd": np.std}
    function = functions[statistic]
    n = len(matrix)
    whole = float(function(upper(matrix)))
    if n < 4:
        return {"value": whole, "low": np.nan, "high": np.nan, "n": n}
    without = [float(function(upper(np.delete(np.delete(matrix, row, 0), row, 1)))) for row in range(n)]
    _, low, high = student_interval([n * whole - (n - 1) * value for value in without])
    return {"value": whole, "low": whole - (high - low) / 2, "high": whole + (high - low) / 2, "n": n}
