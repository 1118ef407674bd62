"""Errors that a person can correct: each says in one line what was wrong, where, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

LONGEST = 2000
"""Characters of a message."""


class InputError(ValueError):
    r"""What was wrong, in which file and row, and what to do, in one line.

    The command line prints its message and exits with 1; anything else that escapes is a defect of ours.
    What a file holds may be part of the message, so line breaks and other characters that a terminal would
    obey are written as escapes, and a very long message is cut in the middle.

    >>> print(InputError("texts.csv: language 'en\nsw' is unknown"))
    texts.csv: language 'en\nsw' is unknown
    """

    def __init__(self, message: object = "") -> None:
        text = "".join(
            letter if letter.isprintable() else letter.encode("unicode_escape").decode()
            for letter in str(message)
        )
        super().__init__(
            text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} ... {text[-LONGEST // 2 :]}"
        )


class MetricInputError(InputError):
    """An argument is not what the metric is defined for; the message says which, in one line."""


class UndefinedMetricError(MetricInputError):
    """The metric is over nothing: no query, no relevant item, one group. It never becomes 0 or nan."""


class StatsInputError(InputError):
    """An argument is not what the statistic is defined for; the message says which, in one line."""


class UndefinedStatisticError(StatsInputError):
    """The statistic is over nothing: no query, a column nobody was asked. It never becomes 0 or nan."""


def unknown_name(kind: str, name: str, known: Iterable[str]) -> InputError:
    """Say that `name` is no known `kind`, and which known one is nearest.

    >>> print(unknown_name("audit", "prevalance", ["prevalence", "parity"]))
    no audit is named 'prevalance'; did you mean 'prevalence'? (known: parity, prevalence)
    """
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return InputError(f"no {kind} is named {name!r}{hint} (known: {', '.join(names) or 'none'})")
