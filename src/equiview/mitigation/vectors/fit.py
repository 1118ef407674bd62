"""Fitting a correction to vectors of images and of texts in several languages, by method.

Sources: `center`, subtraction of language means (arXiv 2606.18801 for text); `whiten`, covariances shrunk by
OAS (Chen et al. 2010); `leace`, Belrose et al. 2023, Theorem 4.3; `inlp`, Ravfogel et al. 2020, Algorithm 1;
`csls`, Conneau et al. 2018. `standardize`, `normalize` and `level` are ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from equiview.data.relevance import Relevance
from equiview.io.notices import notice
from equiview.mitigation.vectors.nullspace import nulled
from equiview.search.topk import score_blocks, top_k
from equiview.subjects.correction import Correction

CUTOFFS = (1, 10, 99)
"""Ranks up to which `level` evens exposure, those of the prevalence audit."""
ENOUGH = 1_000
"""Images from which the best scores of a language are known well enough."""
CORRELATED = 1e-4
"""Canonical correlation with the language below which a direction tells nothing of it."""
STEPS, PACE = 60, 0.15
"""How often `level` corrects its shifts, and how fast at first, in standard deviations of best scores."""
Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class Fitted:
    """What a correction is fitted to: vectors `(n_images, width)` and `(n_texts, width)`, ready to compare.

    `language` is the row of each text's language among the correction's, `relevance` has images as queries.
    `rounds`, `most` texts and `seed` are those of `inlp`.
    """

    images: Floats
    texts: Floats
    language: NDArray[np.int64]
    relevance: Relevance
    rounds: int = 10
    most: int = 20_000
    seed: int = 0
    tried: list[dict[str, float]] = field(default_factory=list)
    """What was tried while fitting, for the card; a method that tries things adds to it."""

    @property
    def means(self) -> Doubles:
        """The mean vector of each language's texts, `(n_languages, width)`."""
        counts = np.bincount(self.language)
        sums = np.zeros((len(counts), self.texts.shape[1]))
        np.add.at(sums, self.language, self.texts)
        return np.asarray(sums / counts[:, None])


def center(data: Fitted, plain: Correction, strength: float) -> Correction:
    """Each language's mean becomes the mean of these means."""
    means = data.means
    return _moved(plain, strength * (means.mean(axis=0) - means))


def whiten(data: Fitted, plain: Correction, strength: float) -> Correction:
    """Each language's mean and covariance become those of all, languages counting alike.

    Covariances are shrunk towards the common one, more where a language has few texts for its dimensions.
    """
    means = data.means
    centred = data.texts - means[data.language]
    within = [np.cov(centred[data.language == row].T, bias=True) for row in range(len(means))]
    there, back = _roots(np.mean(within, axis=0))
    maps, width = [], data.texts.shape[1]
    for row, covariance in enumerate(within):
        shrunk = _oas(there @ covariance @ there, int((data.language == row).sum()))
        maps.append(there @ _roots(shrunk)[0] @ back)
    whole = np.stack([*maps, np.eye(width)])
    moves = np.vstack([means.mean(axis=0) - np.einsum("ld,ldk->lk", means, whole[:-1]), np.zeros(width)])
    blended = strength * whole + (1 - strength) * np.eye(width)
    return replace(plain, maps=blended.astype(np.float32), moves=(strength * moves).astype(np.float32))


def leace(data: Fitted, plain: Correction, strength: float) -> Correction:
    """The smallest change after which no linear function tells the language better than a constant."""
    means = data.means
    middle, counts = data.texts.mean(axis=0, dtype=np.float64), np.bincount(data.language)
    covariance = np.cov(data.texts.T.astype(np.float64), bias=True)
    there, back = _roots(covariance)
    # Cov(x, language) has the columns share_l (mean_l - mean): their span is that of the weighted means.
    directions = there @ ((means - middle) * np.sqrt(counts / counts.sum())[:, None]).T
    left, sizes, _ = np.linalg.svd(directions, full_matrices=False)
    basis = left[:, sizes > CORRELATED]
    erased = strength * (there @ basis @ basis.T @ back)  # row vectors: transposed
    maps = np.eye(len(middle)) - erased
    return replace(
        plain,
        maps=maps[None].astype(np.float32),
        moves=np.tile((middle @ erased).astype(np.float32), (len(plain.languages) + 1, 1)),
    )


def inlp(data: Fitted, plain: Correction, strength: float) -> Correction:
    """What linear classifiers of the language read, one after another, is taken away."""
    rows = np.arange(len(data.texts))
    if len(rows) > data.most:
        rows = np.sort(np.random.default_rng(data.seed).choice(rows, data.most, replace=False))
    found = nulled(data.texts[rows].astype(np.float64), data.language[rows], data.rounds, data.seed)
    for rank, accuracy in zip(found.ranks, found.accuracies, strict=True):
        data.tried.append({"dimensions": rank, "accuracy": round(accuracy, 6)})
    if found.told:
        more = (
            "raise --rounds" if len(found.accuracies) > data.rounds else "one more would take all dimensions"
        )
        notice(
            f"after {len(found.accuracies) - 1} rounds, {found.basis.shape[1]} of {plain.width} dimensions, "
            f"a linear classifier still tells {found.accuracies[-1]:.1%} of what was held out, where "
            f"{found.majority:.1%} is by naming the largest group; {more}, or use leace"
        )
    maps = np.eye(plain.width) - strength * found.basis @ found.basis.T
    return replace(plain, maps=maps[None].astype(np.float32))


def standardize(data: Fitted, plain: Correction, strength: float) -> Correction:
    """Scores of all images with a language's texts get the mean and standard deviation that all have."""
    mean, spread = _moments(data)
    return _levelled(plain, mean, spread, strength)


def normalize(data: Fitted, plain: Correction, strength: float) -> Correction:
    """The mean score of a language becomes 0 and its typical best 1: (score - mean) / (best - mean)."""
    mean, _ = _moments(data)
    best = np.median(_tops(data, plain, 1)[..., 0], axis=1)
    return _levelled(plain, mean, best - mean, strength)


def csls(data: Fitted, plain: Correction, strength: float) -> Correction:
    """Half of a text's mean similarity with its nearest images is taken away."""
    return replace(plain, images=data.images, hub=0.5 * strength)


def level(data: Fitted, plain: Correction, strength: float) -> Correction:
    """All of that is taken away, and languages are shifted until each has its share of the first ranks.

    `strength` is of the shifts alone.
    """
    lowered = replace(plain, images=data.images, hub=1.0)
    return _shifted(lowered, strength * _even(_tops(data, lowered, max(CUTOFFS))))


METHODS: dict[str, Callable[[Fitted, Correction, float], Correction]] = {
    method.__name__: method for method in (center, whiten, leace, inlp, standardize, normalize, csls, level)
}
"""The methods by name; each takes the data, a correction that changes nothing, and the strength."""


def _moved(plain: Correction, moves: Doubles) -> Correction:
    return replace(plain, moves=np.vstack([moves, np.zeros(plain.width)]).astype(np.float32))


def _shifted(plain: Correction, shifts: Doubles) -> Correction:
    return replace(plain, shifts=np.append(shifts, shifts.mean()).astype(np.float32))


def _levelled(plain: Correction, low: Doubles, spread: Doubles, strength: float) -> Correction:
    """(score - low) / spread by language, in the units of all; part of it where `strength` is below 1."""
    middle, typical = low.mean(), spread.mean()
    scales = 1 - strength + strength * typical / spread
    shifts = strength * (middle - low * typical / spread)
    return _shifted(replace(plain, scales=np.append(scales, scales.mean()).astype(np.float32)), shifts)


def _moments(data: Fitted) -> tuple[Doubles, Doubles]:
    """Mean and standard deviation of the scores of all images with each language's texts."""
    middle = data.images.mean(axis=0, dtype=np.float64)
    of_images = data.images.T.astype(np.float64) @ data.images / len(data.images)
    mean = data.means @ middle
    squares = [
        float(np.einsum("ij,ij->", part @ of_images, part) / len(part))
        for part in (data.texts[data.language == row] for row in range(len(mean)))
    ]
    return mean, np.sqrt(np.maximum(squares - mean**2, 1e-12))


def _tops(data: Fitted, plain: Correction, depth: int) -> Floats:
    """The best scores of each language for each image, falling, `(n_languages, n_images, depth)`.

    -inf where a language has fewer texts. Of many images some are enough.
    """
    images, lowered = data.images[:: -(-len(data.images) // ENOUGH)], _lowered(data, plain)
    tops = np.full((len(plain.languages), len(images), depth), -np.inf, dtype=np.float32)
    for row, held in enumerate(tops):
        of_row = np.flatnonzero(data.language == row)
        deep = min(depth, len(of_row))
        for start, scores in score_blocks(images, data.texts[of_row]):
            first = -np.partition(lowered[of_row] - scores, deep - 1, axis=1)[:, :deep]
            held[start : start + len(scores), :deep] = -np.sort(-first, axis=1)
    return tops


def _even(tops: Floats) -> Doubles:
    """Shifts by language `(n_languages,)`, 0 on average, with which all have the same exposure.

    Exposure is that of the prevalence audit, at `CUTOFFS` alike. From the shifts that level the best scores,
    each step raises what is shown too little, by less and less.
    """
    languages, images, depth = tops.shape
    spread = float(tops[..., 0].std(axis=1).mean())
    shifts = -np.median(tops[..., 0], axis=1).astype(np.float64)
    worth = 1 / np.log2(np.arange(2, max(CUTOFFS) + 2))
    cut = min(max(CUTOFFS), languages * depth)
    few = -(-cut // languages)
    of_image = np.ascontiguousarray(tops.transpose(1, 0, 2), dtype=np.float64)
    shifted = np.empty_like(of_image)
    for step in range(STEPS):
        np.add(of_image, shifts[:, None], out=shifted)
        # The best few of each language say how high a score must be; the others are left out.
        least = np.partition(shifted[..., :few].reshape(images, -1), -cut, axis=1)[:, -cut, None]
        scores, places = _packed(shifted.reshape(images, -1), least)
        first = _first(scores, cut)
        order = np.argsort(-np.take_along_axis(scores, first, axis=1), axis=1, kind="stable")
        found = np.take_along_axis(places, np.take_along_axis(first, order, axis=1), axis=1) // depth
        off = np.zeros(languages)
        for k in (min(cutoff, cut) for cutoff in CUTOFFS):
            weights = np.tile(worth[:k], images)
            exposure = np.bincount(found[:, :k].ravel(), weights, minlength=languages) / weights.sum()
            off += np.log(exposure * languages + 0.02) / len(CUTOFFS)
        shifts -= PACE * spread * (1 - step / STEPS) * off
    return np.asarray(shifts - shifts.mean())


def _packed(scores: Doubles, least: Doubles) -> tuple[Doubles, NDArray[np.int64]]:
    """What of each row is not below its least, from the left, and the places of that; rows end in -inf."""
    high = scores >= least
    at = np.flatnonzero(high)
    counts = np.count_nonzero(high, axis=1)
    filled = np.arange(counts.max()) < counts[:, None]
    packed, places = np.full(filled.shape, -np.inf), np.zeros(filled.shape, np.int64)
    packed[filled] = scores.ravel()[at]
    places[filled] = at % scores.shape[1]
    return packed, places


def _first(scores: Doubles, cut: int) -> NDArray[np.int64]:
    """The places of the `cut` highest of each row, from left to right; of equals at the cut, the leftmost."""
    least = np.partition(scores, -cut, axis=1)[:, -cut, None]  # half the time of `argpartition`
    highest = scores >= least
    for row in np.flatnonzero(np.count_nonzero(highest, axis=1) > cut):
        equal = np.flatnonzero(scores[row] == least[row])
        highest[row, equal[cut - np.count_nonzero(scores[row] > least[row]) :]] = False
    return np.nonzero(highest)[1].reshape(len(scores), cut)


def _lowered(data: Fitted, plain: Correction) -> Floats:
    """What `hub` takes from each text, whose own images do not count: later ones will not be kept either."""
    if not plain.hub:
        return np.zeros(len(data.texts), np.float32)
    own = data.relevance.reversed()
    deep = min(len(data.images), plain.nearest + int(own.counts.max()))
    found = top_k(data.texts, data.images, deep)
    others = ~own.mark(found.items)
    counted = others & (np.cumsum(others, axis=1) <= plain.nearest)
    mean = (found.scores * counted).sum(axis=1) / np.maximum(counted.sum(axis=1), 1)
    return np.asarray(plain.hub * mean, dtype=np.float32)


def _roots(covariance: Doubles) -> tuple[Doubles, Doubles]:
    """The inverse square root of a covariance, within what it spans, and its square root."""
    values, vectors = np.linalg.eigh(covariance)
    spans = values > 1e-7 * values.max(initial=1e-30)
    roots, kept = np.sqrt(values[spans]), vectors[:, spans]
    return (kept / roots) @ kept.T, (kept * roots) @ kept.T


def _oas(covariance: Doubles, n: int) -> Doubles:
    """A covariance of `n` vectors, shrunk towards a multiple of the identity (Chen et al. 2010, eq. 23)."""
    width = len(covariance)
    square, trace = float((covariance**2).sum()), float(np.trace(covariance))
    upper = (1 - 2 / width) * square + trace**2
    lower = (n + 1 - 2 / width) * (square - trace**2 / width)
    weight = 1.0 if lower <= 0 else min(1.0, upper / lower)
    return np.asarray((1 - weight) * covariance + weight * trace / width * np.eye(width))
