"""Metrics by name, and what a number is about: a metric, its cutoff and its keys. Nothing parses a name.

A `Quantity` is the address of a number: it names a column of `Values` or a row of `Estimates`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Better = Literal["lower", "higher"]


@dataclass(frozen=True)
class Metric:
    """A metric in words: `better` says which way is good, None when neither is.

    `unit` is "share" for what is read as percent, "points" for differences of shares, or the name of another,
    "" where there is none; `range` holds the least and the greatest possible value, None where there is none.
    """

    name: str
    meaning: str
    better: Better | None = None
    unit: str = ""
    range: tuple[float | None, float | None] = (None, None)


SHARE = (0.0, 1.0)
DIFFERENCE = (-1.0, 1.0)


def share(name: str, meaning: str, better: Better | None = None) -> Metric:
    """A metric that is a share."""
    return Metric(name, meaning, better, "share", SHARE)


def points(name: str, meaning: str, better: Better | None = None) -> Metric:
    """A metric that is a difference of shares."""
    return Metric(name, meaning, better, "points", DIFFERENCE)


def nats(name: str, meaning: str, better: Better | None = None) -> Metric:
    """A metric that is a divergence, or a logarithm of a ratio, and never below 0."""
    return Metric(name, meaning, better, "nats", (0.0, None))


@dataclass(frozen=True)
class Quantity:
    """One number that an audit reports: a metric, cut at rank `k` where it has a cutoff, and its keys.

    >>> quantity("R", k=1, language="sw") == quantity("R", k=1, language="sw")
    True
    >>> quantity("R", k=1, tier="low").label()
    'R@1, low tier'
    """

    metric: str
    k: int | None = None
    items: tuple[tuple[str, str], ...] = ()

    @property
    def keys(self) -> dict[str, str]:
        """The keys as a dictionary, in alphabetical order."""
        return dict(self.items)

    def label(self, key_formats: Mapping[str, str] | None = None) -> str:
        """The quantity in words; `key_formats` says how a key is read, as in `{"grouping": "by {}"}`.

        >>> quantity("DLBKL", k=10, grouping="tier").label({"grouping": "by {}"})
        'DLBKL@10, by tier'
        """
        formats = key_formats or {}
        words = [formats.get(key, "{} " + key).format(value.replace("-", " ")) for key, value in self.items]
        cutoff = "" if self.k is None else f"@{self.k}"
        return ", ".join([self.metric + cutoff, *words])


def quantity(metric: str, k: int | None = None, **keys: str) -> Quantity:
    """Make a `Quantity`; the order in which keys are written does not matter."""
    return Quantity(metric, k, tuple(sorted(keys.items())))
