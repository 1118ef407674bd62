"""Directions that tell groups apart, found by linear classifiers one after another, and what they span.

Iterative nullspace projection: Ravfogel et al. 2020, "Null It Out" (arXiv 2004.07667), Algorithm 1. Each
classifier is a multinomial logistic regression, fitted where all before it see nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from equiview.errors import InputError

TELLS = 1e-5
"""Size of a direction, over that of the largest, from which it is one."""
HELD_OUT = 0.25
"""Share of each group's vectors by which a classifier is judged."""
PENALTY = 1.0
"""Of half the squared weights, beside the sum of log losses, for vectors whose entries are of size 1."""
CHANCE = 0.05
"""Level at which a classifier is held to tell groups better than naming the largest."""
Doubles = NDArray[np.float64]
Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Nulled:
    """What is taken away: an orthonormal `basis` `(width, rank)`; of each round how well groups were told.

    `accuracies` are of held-out vectors, and `ranks` are the dimensions already taken when each was measured.
    `told` is whether groups still are told at the end.
    """

    basis: Doubles
    accuracies: tuple[float, ...]
    ranks: tuple[int, ...]
    majority: float
    told: bool


def basis_of(directions: Doubles) -> Doubles:
    """An orthonormal basis `(width, rank)` of what `directions` `(n, width)` span."""
    _, sizes, right = np.linalg.svd(directions, full_matrices=False)
    return np.asarray(right[sizes > max(TELLS * sizes.max(initial=0), 1e-12)].T)


def nulled(vectors: Doubles, groups: Rows, rounds: int, seed: int) -> Nulled:
    """Take away what linear classifiers of `groups` `(n,)` read from `vectors` `(n, width)`.

    It ends when a classifier does not tell held-out vectors shown to be better than by naming the largest
    group (a binomial test, ours), after `rounds`, and before nothing would be left. InputError where all
    vectors are one.

    >>> rng = np.random.default_rng(0)
    >>> vectors, groups = rng.normal(size=(400, 4)), np.arange(400) % 2
    >>> vectors[:, 2] += 4 * groups
    >>> found = nulled(vectors, groups, rounds=5, seed=0)
    >>> found.accuracies, found.ranks, found.majority, found.told
    ((0.97, 0.65, 0.54), (0, 1, 2), 0.5, False)
    >>> bool(np.linalg.norm(found.basis[2]) > 0.99)
    True
    """
    from scipy.stats import binom

    size = float(np.sqrt(((vectors - vectors.mean(axis=0)) ** 2).mean()))
    if size <= TELLS * float(np.abs(vectors).max(initial=0)):
        raise InputError("the encoder gives all items one vector: there is no direction to take away")
    scaled = (vectors - vectors.mean(axis=0)) / size
    held = _held_out(groups, seed)
    right = groups[held]
    majority = float(np.bincount(right).max() / len(right))
    width = vectors.shape[1]
    basis, accuracies, ranks = np.zeros((width, 0)), [], []
    told = True
    for turn in range(rounds + 1):
        seen = scaled - (scaled @ basis) @ basis.T
        weights, bias = classifier(seen[~held], groups[~held])
        hits = int((np.argmax(seen[held] @ weights + bias, axis=1) == right).sum())
        accuracies.append(hits / len(right))
        ranks.append(basis.shape[1])
        told = bool(binom.sf(hits - 1, len(right), majority) <= CHANCE)
        if not told or turn == rounds:
            break
        # Of both together, as the authors do: fits are not exact, and bases would not be quite orthogonal.
        wider = basis_of(np.vstack([basis.T, basis_of(weights.T).T]))
        if wider.shape[1] >= width:
            break
        basis = wider
    return Nulled(basis, tuple(accuracies), tuple(ranks), majority, told)


def classifier(vectors: Doubles, groups: Rows) -> tuple[Doubles, Doubles]:
    """Weights `(width, n_groups)` and biases `(n_groups,)` of the multinomial logistic regression.

    The minimum of the summed log loss and `PENALTY` times half of the squared weights, which is unique.
    """
    from scipy.optimize import minimize
    from scipy.special import log_softmax

    n, width = vectors.shape
    labels = np.eye(int(groups.max()) + 1)[groups]
    classes = labels.shape[1]

    def loss(flat: Doubles) -> tuple[float, Doubles]:
        weights, bias = flat[: width * classes].reshape(width, classes), flat[width * classes :]
        logs = log_softmax(vectors @ weights + bias, axis=1)
        off = np.exp(logs) - labels
        value = -float(logs[labels > 0].sum()) + PENALTY / 2 * float((weights**2).sum())
        slope = np.concatenate([(vectors.T @ off + PENALTY * weights).ravel(), off.sum(axis=0)])
        return value / n, slope / n

    start = np.zeros((width + 1) * classes)
    # Precise enough that directions, not the loss alone, are those of the minimum.
    options = {"maxiter": 1_000, "ftol": 1e-12, "gtol": 1e-7, "maxcor": 20}
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options=options).x
    return found[: width * classes].reshape(width, classes), found[width * classes :]


def _held_out(groups: Rows, seed: int) -> NDArray[np.bool_]:
    """Which vectors judge `(n,)`: `HELD_OUT` of each group, at least one, drawn by `seed`."""
    rng = np.random.default_rng(seed)
    held = np.zeros(len(groups), dtype=bool)
    for group in range(int(groups.max()) + 1):
        rows = np.flatnonzero(groups == group)
        held[rng.permutation(rows)[: max(1, round(HELD_OUT * len(rows)))]] = True
    return held
