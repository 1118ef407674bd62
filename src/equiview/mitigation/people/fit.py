"""Projections that take an attribute out of vectors (Chuang et al. 2023, arXiv 2302.00070, section 4)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from equiview.errors import InputError
from equiview.mitigation.vectors.nullspace import basis_of

Doubles = NDArray[np.float64]


def projection(directions: Doubles) -> Doubles:
    """The symmetric matrix `(width, width)` that takes away what `directions` `(n, width)` span.

    InputError where they are all zero, or span everything.

    >>> projection(np.array([[2.0, 0.0]])).tolist()
    [[0.0, 0.0], [0.0, 1.0]]
    """
    basis = basis_of(directions)
    width, rank = basis.shape
    if not rank:
        raise InputError("the encoder gives all groups one vector: there is no direction to project out")
    if rank >= width:
        raise InputError(
            f"the directions to project out span all {width} dimensions of the vectors: nothing would be "
            "left; name fewer attributes with --by, or fewer sources with --directions"
        )
    return np.asarray(np.eye(width) - basis @ basis.T)


def discrepancy(cells: Sequence[Doubles]) -> Doubles:
    """The mean of (z_i - z_j)(z_i - z_j)' over all pairs within each cell `(n, width)`, `(width, width)`.

    The vectors of a cell are of texts that differ in the attribute alone.

    >>> discrepancy([np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([[0.0, 1.0]])]).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    width = cells[0].shape[1]
    total, pairs = np.zeros((width, width)), 0
    for cell in cells:
        centred = cell - cell.mean(axis=0)
        total += len(cell) * centred.T @ centred
        pairs += len(cell) * (len(cell) - 1) // 2
    return np.asarray(total / max(pairs, 1))


def calibrated(plain: Doubles, apart: Doubles, weight: float) -> Doubles:
    """P with the least |P - P_0|^2 + weight mean |P z_i - P z_j|^2, for column vectors (Lemma 4.1).

    `plain` is P_0, `apart` what `discrepancy` gives. With `weight` 0 it is P_0.
    """
    return np.asarray(np.linalg.solve(np.eye(len(plain)) + weight * apart, plain.T).T)
