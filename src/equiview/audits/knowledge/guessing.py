"""What guesses give: how often letters are right by luck, in one language and in two at once.

A question is known or guessed. A guess may lean to a letter, and guesses in two languages may go together:
both say "A" whatever is asked. Right answers do not tell a known fact from luck, but wrong answers are all
guesses. Where guesses do not depend on which option is right, a guess of an option that is right in a share q
of the questions is wrong in 1 - q of them, so that a wrong answer stands for 1 / (1 - q) guesses, of which
q / (1 - q) were lucky. The same holds for two languages that are both wrong. This is ours; it needs no
assumption of how a model guesses.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
ENOUGH = 20
"""Questions for each option, of those with as many, below which all options count as equally often right."""


@dataclass(frozen=True)
class Letters:
    """The options that were chosen and that are right, as places from 0; -1 is a reply that was not read.

    `chosen` is `(n_questions, n_columns)`, `truth` and `options`, the number of them, `(n_questions,)`.

    >>> letters = Letters(np.zeros((4, 1), dtype=int), np.array([0, 1, 2, 3]), np.full(4, 4))
    >>> letters.guessed.ravel().round(2).tolist(), letters.net.mean().round(2).tolist()
    ([0.0, 1.33, 1.33, 1.33], 0.0)
    """

    chosen: Integers
    truth: Integers
    options: Integers

    @cached_property
    def correct(self) -> NDArray[np.bool_]:
        """Which answers are right."""
        return np.asarray(self.chosen == self.truth[:, None])

    @cached_property
    def key(self) -> Floats:
        """How often the chosen option is right among questions with as many options, 0 where unread."""
        return self._of_key(self.chosen)

    @cached_property
    def guessed(self) -> Floats:
        """How many guesses each answer stands for, 0 if it is right; the mean is the share guessed."""
        return np.where(self.correct, 0.0, 1 / np.maximum(1 - self.key, 1e-3))

    @cached_property
    def lucky(self) -> Floats:
        """How many lucky guesses each wrong answer stands for."""
        return self.guessed * self.key

    def guessed_in(self, x: Integers, y: Integers) -> tuple[Floats, Floats]:
        """How many guesses in both of two columns each question stands for, and lucky ones: `(n, n_pairs)`.

        Only questions that are wrong in both stand for any.
        """
        wrong = ~(self.correct[:, x] | self.correct[:, y])
        same = self.chosen[:, x] == self.chosen[:, y]
        read = self.chosen[:, x] >= 0
        apart = 1 - self.key[:, x] - np.where(same, 0.0, self.key[:, y])
        both = np.where(wrong, 1 / np.maximum(apart, 1e-3), 0.0)
        return both, np.where(same & read, both * self.key[:, x], 0.0)

    @cached_property
    def net(self) -> Floats:
        """Of each answer what its mean adds to accuracy less what the same letters would give by luck.

        Luck is what permuting the chosen letters against the right ones would give, among questions with as
        many options.
        """
        net = self.correct.astype(np.float64)
        for options, rows in self._kinds.items():
            truth, chosen = self.truth[rows], self.chosen[rows]
            if len(rows) < ENOUGH * options:
                net[rows] -= np.where(chosen >= 0, 1 / options, 0.0)
                continue
            right = self._shares[options]
            for column in range(chosen.shape[1]):
                often = np.bincount(chosen[chosen[:, column] >= 0, column], minlength=options) / len(rows)
                luck = float(often @ right)
                net[rows, column] += luck - self.key[rows, column] - often[truth]
        return net

    @cached_property
    def _kinds(self) -> dict[int, Integers]:
        """The questions with each number of options."""
        return {int(n): np.flatnonzero(self.options == n) for n in np.unique(self.options)}

    @cached_property
    def _shares(self) -> dict[int, Floats]:
        """How often each option is right, by the number of options."""
        return {
            n: np.bincount(self.truth[rows], minlength=n) / len(rows)
            if len(rows) >= ENOUGH * n
            else np.full(n, 1 / n)
            for n, rows in self._kinds.items()
        }

    def _of_key(self, chosen: Integers) -> Floats:
        shares = np.zeros(chosen.shape)
        for n, rows in self._kinds.items():
            part = chosen[rows]
            shares[rows] = np.where(part >= 0, self._shares[n][np.maximum(part, 0)], 0.0)
        return shares
