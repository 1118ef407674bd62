"""What goes wrong in a metric: input that is not what it should be, or nothing to measure."""

from __future__ import annotations


class MetricInputError(ValueError):
    """An argument is not what the metric is defined for; the message says which, in one line."""


class UndefinedMetricError(MetricInputError):
    """The metric is over nothing: no query, no relevant item, one group. It never becomes 0 or nan."""
