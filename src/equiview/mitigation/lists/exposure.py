"""What each group's results must be given in score so that all lists together show it for its share.

A linear program over all lists at once: of all mixtures of orders in which the groups have the exposure that
is asked for, the one that keeps most of the scores on top (after Singh and Joachims, KDD 2018, whose program
is of one list, and Biega et al., SIGIR 2018, who spread exposure over many). For given prices of the groups
the best order of a list is by score plus price, so the program is solved by adding one such order of all
lists after another (Dantzig and Wolfe), by HiGHS.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from equiview.io.progress import Progress

Floats = NDArray[np.float64]
TURNS = 400
"""Most orders that are tried."""
PRECISE = 1e-5
"""The program is solved when no other order is better by more than this share."""
LEAST_WEIGHT = 1e-6


@dataclass(frozen=True)
class Lists:
    """Groups `(n, depth)` of the results of n lists, -1 where there is none, and their scores."""

    groups: NDArray[np.int64]
    scores: Floats

    def exposed(self, boosts: Floats, seen: Floats) -> tuple[float, Floats]:
        """What the first results keep of the scores, and the exposure of each group, when boosted `(G,)`.

        `seen` `(depth,)` is what a rank is looked at.
        """
        there = self.groups >= 0
        values = np.where(there, self.scores + boosts[self.groups], -np.inf)
        order = np.argsort(-values, axis=1, kind="stable")
        groups = np.take_along_axis(self.groups, order, axis=1)
        scores = np.take_along_axis(np.where(there, self.scores, 0.0), order, axis=1)
        weights = np.where(groups >= 0, seen, 0.0)
        exposure = np.bincount(groups[groups >= 0], weights[groups >= 0], minlength=len(boosts))
        return float((scores * seen).sum()) / len(groups), exposure / len(groups)


@dataclass(frozen=True)
class Solved:
    """Boosts `(J, G)` around 0, the part `(J,)` of lists that takes each, and shares of exposure `(G,)`."""

    boosts: Floats
    weights: Floats
    before: Floats
    after: Floats


def solve(lists: Lists, shares: Floats, seen: Floats, progress: Progress) -> Solved:
    """The boosts by which groups are exposed for `shares` `(G,)`, or as near to these as the lists allow.

    >>> from equiview.io.progress import silent
    >>> lists = Lists(np.array([[0, 0, 1]] * 4), np.array([[0.9, 0.8, 0.5]] * 4))
    >>> solved = solve(lists, np.array([0.5, 0.5]), np.array([1.0, 0.0, 0.0]), silent)
    >>> solved.before.tolist(), solved.after.round(3).tolist()
    ([1.0, 0.0], [0.5, 0.5])
    """
    from scipy.optimize import linprog

    n = len(shares)
    price = float(np.ptp(lists.scores[lists.groups >= 0])) or 1.0
    boosts = [np.zeros(n)]
    first = lists.exposed(boosts[0], seen)
    kept, exposures = [first[0]], [first[1]]
    target = shares * first[1].sum()
    for turn in range(TURNS):
        costs = np.concatenate([-np.array(kept), np.full(2 * n, price)])
        meets = np.hstack([np.array(exposures).T, np.eye(n), -np.eye(n)])
        whole = np.concatenate([np.ones(len(kept)), np.zeros(2 * n)])
        solved = linprog(costs, A_eq=np.vstack([meets, whole]), b_eq=[*target, 1.0], method="highs")
        weights, prices = solved.x[: len(kept)], solved.eqlin.marginals[:n]
        value, exposure = lists.exposed(prices, seen)
        progress("orders tried", turn + 1, TURNS)
        if value + prices @ (exposure - target) + solved.fun <= PRECISE * abs(solved.fun):
            progress("orders tried", TURNS, TURNS)
            break
        boosts.append(prices)
        kept.append(value)
        exposures.append(exposure)
    used = weights > LEAST_WEIGHT
    weights = weights[used] / weights[used].sum()
    after = weights @ np.array(exposures)[: len(used)][used]
    total = first[1].sum()
    taken = np.array(boosts)[: len(used)][used]
    return Solved(taken - (taken @ shares)[:, None], weights, first[1] / total, after / total)
