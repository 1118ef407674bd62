"""What goes wrong in a statistic: input that is not what it should be, or nothing to judge."""

from __future__ import annotations


class StatsInputError(ValueError):
    """An argument is not what the statistic is defined for; the message says which, in one line."""


class UndefinedStatisticError(StatsInputError):
    """The statistic is over nothing: no query, a column nobody was asked. It never becomes 0 or nan."""
