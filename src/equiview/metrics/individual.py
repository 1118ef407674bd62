"""Individual fairness across languages: do parallel captions relate alike to the same image.

From "Assessing Multilingual Fairness in Pre-trained Multimodal Representations" (F), section 3. A pair is an
image v and two captions of it, t and t', that say the same in two languages. Every function takes a row for
each pair and returns `(n_pairs,)` float64: `images`, `texts`, `others` are `(n_pairs, width)` vectors, of any
length but 0, since similarity is the cosine. `gap_ratio` and `gap_bound` take numbers of pairs instead.

Whatever the vectors, |cos(v, t) - cos(v, t')| is at most ||t/|t| - t'/|t'|||, the chord between the captions'
directions. `similarity_gap` computes the left side as |v/|v| . (t/|t| - t'/|t'|)|, in float64, so that its
rounding is relative to the chord, and never returns more than the chord: an excess up to `TOLERANCE` of it is
rounding and is cut off, a larger one would be a defect and raises.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equiview.errors import MetricInputError, UndefinedMetricError
from equiview.metrics._check import as_table

TOLERANCE = 1e-9
"""Share of the chord by which rounding may exceed it: far above 2**-52 x width, far below any finding."""
SQUARES = (1e-140, 1e140)
"""Lengths beyond which squares lose digits, or all of them, or overflow."""


def similarity_gap(
    images: ArrayLike, texts: ArrayLike, others: ArrayLike, *, normalised: bool = False
) -> NDArray[np.float64]:
    """How differently two captions relate to their image: |cos(v, t) - cos(v, t')|, in [0, 2] (F, Def. 1).

    `images`, `texts` and `others` are `(n_pairs, width)`; returns `(n_pairs,)`. `normalised` says that all of
    them have length 1 and were checked already, which saves most of the time.

    Raises UndefinedMetricError for no pair or a vector of zeros; MetricInputError for shapes that differ or
    values that are not finite; ArithmeticError should a gap ever exceed the chord by more than `TOLERANCE`.

    >>> similarity_gap([[1, 0]], [[2, 0]], [[0, 3]]).tolist()
    [1.0]
    """
    image, text, other = _together(
        {"images": images, "texts": texts, "others": others}, checked=normalised, unit=not normalised
    )
    difference = text - other
    gap = np.abs(np.einsum("ij,ij->i", image, difference))
    chord = _lengths(difference)
    if (gap > chord * (1 + TOLERANCE)).any():
        pair = int((gap > chord * (1 + TOLERANCE)).argmax())
        raise ArithmeticError(
            f"pair {pair}: similarity gap {gap[pair]:.9g} exceeds the chord {chord[pair]:.9g}; "
            "are the vectors of length 1?"
        )
    return np.asarray(np.minimum(gap, chord))


def text_distance(
    texts: ArrayLike, others: ArrayLike, *, unit: bool = False, normalised: bool = False
) -> NDArray[np.float64]:
    """How far apart two captions lie: ||t - t'||, or with `unit` the chord ||t/|t| - t'/|t'||| in [0, 2].

    `texts` and `others` are `(n_pairs, width)`; returns `(n_pairs,)`. F uses the vectors as the encoder gives
    them; the chord is the same whatever their lengths. `normalised` says that the vectors need no checks.

    Raises what `similarity_gap` raises for bad input.

    >>> text_distance([[2, 0]], [[0, 3]]).round(4).tolist()
    [3.6056]
    >>> text_distance([[2, 0]], [[0, 3]], unit=True).round(4).tolist()
    [1.4142]
    """
    text, other = _together({"texts": texts, "others": others}, checked=normalised, unit=unit)
    return _lengths(text - other)


def fairness_ratio(
    images: ArrayLike, texts: ArrayLike, others: ArrayLike, *, unit: bool = False
) -> NDArray[np.float64]:
    """Similarity gap over text distance: the least alpha for which a pair is alpha-fair (F, Def. 1).

    `images`, `texts` and `others` are `(n_pairs, width)`; returns `(n_pairs,)`. The largest is F's alpha-hat.
    With `unit` the distance is the chord and the ratio at most 1. Else it is at most 2 / (|t| + |t'|), by the
    inequality of Dunkl and Williams ("A Simple Norm Inequality", 1964): F's 1 / |t|, but exact at every
    distance. That addition is ours.

    Raises UndefinedMetricError for captions with one and the same vector, whose ratio would be 0 / 0, and
    what `similarity_gap` raises.

    >>> fairness_ratio([[1, 0]], [[4, 0]], [[4, 3]], unit=True).round(4).tolist()
    [0.3162]
    >>> fairness_ratio([[1, 0]], [[4, 0]], [[4, 3]]).round(4).tolist()
    [0.0667]
    """
    ratio = gap_ratio(similarity_gap(images, texts, others), text_distance(texts, others, unit=unit))
    if np.isnan(ratio).any():
        pair = int(np.isnan(ratio).argmax())
        raise UndefinedMetricError(f"pair {pair}: both captions have the same vector, so the ratio is 0 / 0")
    return ratio


def gap_ratio(gaps: ArrayLike, distances: ArrayLike) -> NDArray[np.float64]:
    """`fairness_ratio` from gaps and distances that are known already: gap over distance, nan for 0 / 0.

    `gaps` (of `similarity_gap`) and `distances` (of `text_distance`) are `(n_pairs,)`; returns `(n_pairs,)`.
    Captions with one and the same vector have neither gap nor distance, so their ratio is nan: exclude them.

    Raises UndefinedMetricError for no pair; MetricInputError for shapes that differ, values that are negative
    or not finite, or a gap without any distance, which no vectors have.

    >>> gap_ratio([0.1, 0.0], [0.4, 0.0]).tolist()
    [0.25, nan]
    """
    gap, distance = np.asarray(gaps, dtype=np.float64), np.asarray(distances, dtype=np.float64)
    if gap.ndim != 1 or gap.shape != distance.shape:
        raise MetricInputError(f"gaps and distances must be (n_pairs,); got {gap.shape}, {distance.shape}")
    if not gap.size:
        raise UndefinedMetricError("gaps is empty: there is no pair")
    if not (np.isfinite(gap).all() and np.isfinite(distance).all()) or min(gap.min(), distance.min()) < 0:
        raise MetricInputError("gaps and distances must be finite and not negative")
    equal = distance == 0
    if gap[equal].any():
        pair = int((equal & (gap > 0)).argmax())
        raise MetricInputError(f"pair {pair} has a gap of {gap[pair]:g} without any distance")
    return np.asarray(np.divide(gap, distance, out=np.full(gap.shape, np.nan), where=~equal))


def gap_bound(distances: ArrayLike, lengths: ArrayLike) -> NDArray[np.float64]:
    """Largest similarity gap that a text at `distances` from t allows, whatever the image (F, Theorem 2).

    `distances` (rho) and `lengths` (|t|) are `(n_pairs,)`; returns sqrt(2 - 2 sqrt(1 - rho^2/|t|^2)),
    `(n_pairs,)` in [0, sqrt 2]; about rho/|t| when small. It holds for rho up to |t|; beyond, the chord alone
    bounds the gap.

    Raises UndefinedMetricError for no pair or a length of 0; MetricInputError for a distance that is negative
    or exceeds its length, shapes that differ or values that are not finite.

    >>> gap_bound([0.1, 1.0], [1.0, 1.0]).round(4).tolist()
    [0.1001, 1.4142]
    """
    rho, length = np.asarray(distances, dtype=np.float64), np.asarray(lengths, dtype=np.float64)
    if rho.ndim != 1 or rho.shape != length.shape:
        raise MetricInputError(f"distances and lengths must be (n_pairs,); got {rho.shape}, {length.shape}")
    if not rho.size:
        raise UndefinedMetricError("distances is empty: there is nothing to bound")
    if not (np.isfinite(rho).all() and np.isfinite(length).all()):
        raise MetricInputError("distances and lengths must be finite")
    if (length == 0).any():
        raise UndefinedMetricError(f"pair {int((length == 0).argmax())} has a text of length 0")
    if (rho < 0).any() or (length < 0).any() or (rho > length).any():
        pair = int(((rho < 0) | (length < 0) | (rho > length)).argmax())
        raise MetricInputError(
            f"pair {pair}: the bound is for distances from 0 to the length {length[pair]:g}; "
            f"got {rho[pair]:g}"
        )
    share = rho / length
    # 2 - 2 sqrt(1 - x^2) in a form that keeps its digits where x is small.
    return np.asarray(share * np.sqrt(2 / (1 + np.sqrt((1 - share) * (1 + share)))))


def _lengths(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Euclidean length of each row, right even where its squares are too small or large to be numbers."""
    with np.errstate(over="ignore"):
        lengths: NDArray[np.float64] = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    extreme = np.flatnonzero((lengths < SQUARES[0]) | (lengths > SQUARES[1]))
    if len(extreme):
        largest = np.abs(vectors[extreme]).max(axis=1)
        scaled = vectors[extreme] / np.where(largest > 0, largest, 1.0)[:, None]
        lengths[extreme] = largest * np.sqrt(np.einsum("ij,ij->i", scaled, scaled))
    return lengths


def _together(arrays: dict[str, ArrayLike], *, checked: bool, unit: bool) -> list[NDArray[np.float64]]:
    """The arrays as float64 of one shape `(n_pairs, width)`, scaled to length 1 if `unit`."""
    tables: list[NDArray[Any]] = (
        [np.asarray(array) for array in arrays.values()]
        if checked
        else [as_table(array, name, "width", rows="n_pairs") for name, array in arrays.items()]
    )
    if len({table.shape for table in tables}) > 1:
        shapes = ", ".join(f"{name} {table.shape}" for name, table in zip(arrays, tables, strict=True))
        raise MetricInputError(f"vectors of a pair must have one shape; got {shapes}")
    if checked:
        return tables
    return [_vectors(table, name, unit) for name, table in zip(arrays, tables, strict=True)]


def _vectors(table: NDArray[Any], name: str, unit: bool) -> NDArray[np.float64]:
    vectors = table.astype(np.float64)
    if not np.isfinite(vectors).all():
        row = int((~np.isfinite(vectors).all(axis=1)).argmax())
        raise MetricInputError(f"{name}: the vector of pair {row} has a value that is not finite")
    lengths = _lengths(vectors)[:, None]
    if not lengths.all():
        raise UndefinedMetricError(f"{name}: the vector of pair {int((lengths == 0).argmax())} is all zero")
    if not unit:
        return vectors
    # The reciprocal of a length may be no number, so extreme rows are brought near 1 first.
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    extreme = (largest < SQUARES[0]) | (largest > SQUARES[1])
    factor = np.where(extreme, largest, 1.0)
    return (vectors / factor) / (lengths / factor)
