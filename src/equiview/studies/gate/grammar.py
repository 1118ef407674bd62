"""The language of a gate: conditions over verdicts, estimates and paired differences.

    AUDIT = biased                           the verdict: biased, fair or unclear; != for "not"
    AUDIT: METRIC@K[KEY=VALUE].FIELD > 0.05  rows of the run's table; FIELD is `value` where none is given
    AUDIT: effect.low > 1                    the effect of the verdict, in units of its tolerance
    AUDIT: METRIC.change.low > 0.02          this run minus the baseline, paired by query
    AUDIT: METRIC.worse, AUDIT: worse, worse shown to be worse than the baseline

What stands in brackets chooses rows: `KEY=VALUE`, `KEY=*` (any value) and `KEY=` (rows that are not by it). A
cutoff or a key that is not given is free. A dot may stand for the colon. Numbers may be percentages, `5%`.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import eq, ge, gt, le, lt, ne
from typing import get_args

from equiview.data.verdict import Finding
from equiview.errors import InputError, unknown_name

FIELDS = ("value", "low", "high", "low_all", "high_all", "n", "chance", "excess", "p", "p_holm")
CHANGES = {"change": "difference", "change.low": "low", "change.high": "high", "change.p": "p_holm"}
"""Fields of a paired difference, and what the table of a comparison calls them."""
EFFECT = "effect"
WORSE = "worse"
ANY = "*"
OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "<=": le, ">=": ge, "!=": ne, "==": eq, "=": eq, "<": lt, ">": gt,
}  # fmt: skip
FINDINGS = get_args(Finding)


@dataclass(frozen=True)
class Wanted:
    """Which rows are meant: a metric, its cutoff and keys; None and what is not named are free."""

    metric: str
    k: int | None = None
    keys: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Condition:
    """A condition as it was read; `places` are where its parts stand, for errors.

    Of a finding `test` is `=` or `!=` and `finding` what it names. Of a number `rows` says which rows are
    meant, `field` what of them, and `test` and `limit` what it is compared with. Of `worse` `field` is
    that word; `rows` is None for all headlines of the audit, `audit` is "" for those of all audits.
    """

    text: str
    audit: str = ""
    test: str = ""
    finding: str = ""
    rows: Wanted | None = None
    field: str = ""
    limit: float = 0.0
    places: dict[str, int] = dataclasses.field(default_factory=dict, compare=False, repr=False)

    @property
    def is_paired(self) -> bool:
        """Whether it is about the difference to a baseline."""
        return self.field == WORSE or self.field in CHANGES

    def holds(self, value: float) -> bool:
        """Whether a number satisfies it."""
        return OPERATORS[self.test](value, self.limit)

    def wrong(self, part: str, said: object) -> InputError:
        """An error about the part of that name, with its place."""
        return _wrong(self.text, self.places.get(part, 0), said)

    def unknown(self, part: str, name: str, known: Iterable[str], kind: str = "") -> InputError:
        """An error about a name that is not known, with the nearest one."""
        return self.wrong(part, unknown_name(kind or part, name, known))


def parse(text: str) -> Condition:
    """Read a condition; InputError says at which character of it something is wrong.

    >>> parse("fairness: gap to pivot[task=image-to-text].low > 0.05").rows
    Wanted(metric='gap to pivot', k=None, keys=(('task', 'image-to-text'),))
    >>> parse("fairness=biased").finding, parse("fairness: R@1 < 20%").limit
    ('biased', 0.2)
    >>> parse("fair=baised")
    Traceback (most recent call last):
        ...
    equiview.errors.InputError: 'fair=baised', character 6 ('baised'): no finding is named 'baised'; did \
you mean 'biased'? (known: biased, fair, unclear)
    """
    return _Reader(text).condition()


def parse_rows(text: str) -> Condition:
    """Read `METRIC@K[KEY=VALUE]` alone, as in a condition; InputError as for `parse`.

    >>> parse_rows("R@1[language=sw]").rows
    Wanted(metric='R', k=1, keys=(('language', 'sw'),))
    """
    reader = _Reader(text)
    rows = reader.rows()
    reader.end()
    return Condition(text, rows=rows, places=reader.places)


def _wrong(text: str, place: int, said: object) -> InputError:
    place += len(text[place:]) - len(text[place:].lstrip())
    rest = text[place:].strip()
    at = f", character {place + 1} ({rest[:30]!r})" if rest else ", at its end"
    return InputError(f"{text!r}{at}: {said}")


class _Reader:
    """Reads one condition from left to right."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.places = text, 0, {"condition": 0}

    def condition(self) -> Condition:
        if self.text.strip() == WORSE:
            return Condition(self.text, field=WORSE, places=self.places)
        audit = self.need("audit", r"[\w-]+", "expected the name of an audit")
        if test := self.take(r"!=|==?"):
            finding = self.need("finding", r"[^\s]+", f"expected a finding: {', '.join(FINDINGS)}")
            if finding not in FINDINGS:
                raise _wrong(self.text, self.places["finding"], unknown_name("finding", finding, FINDINGS))
            self.end()
            return Condition(self.text, audit, test, finding, places=self.places)
        self.need("separator", r"[:.]", "expected ':' and a metric after the audit, or '=' and a finding")
        rows = self.rows()
        if rows == Wanted(WORSE) and self.rest() == "":
            return Condition(self.text, audit, field=WORSE, places=self.places)
        named = self.field()
        if named == WORSE:
            self.end()
            return Condition(self.text, audit, rows=rows, field=WORSE, places=self.places)
        test = self.need("test", r"<=|>=|!=|==?|<|>", f"expected one of {' '.join(OPERATORS)} and a number")
        limit = self.number()
        self.end()
        return Condition(self.text, audit, test, rows=rows, field=named, limit=limit, places=self.places)

    def rows(self) -> Wanted:
        metric = self.need(
            "metric", r'"[^"]+"|[^@\[\].<>=!":]*[^@\[\].<>=!":\s]', "expected the name of a metric"
        ).strip('"')
        k = (
            self.need("cutoff", r"[0-9]{1,9}", "expected a rank after '@', as in R@1")
            if self.take("@")
            else ""
        )
        keys: list[tuple[str, str]] = []
        if self.take(r"\["):
            while True:
                key = self.need("key", r"[^\s=,\]]+", "expected KEY=VALUE")
                place = self.places["key"]
                self.need("equals", "=", f"expected '=' after the key {key!r}")
                value = self.take(r'"[^"]*"|[^,\]]*', f"value of {key}").strip()
                if any(key == other for other, _ in keys):
                    raise _wrong(self.text, place, f"the key {key!r} is named twice")
                self.places[f"key {key}"] = place
                keys.append((key, value.strip('"')))
                if self.take(r"\]"):
                    break
                self.need("comma", ",", "expected ',' or ']'")
        return Wanted(metric, int(k) if k else None, tuple(keys))

    def field(self) -> str:
        if not self.take(r"\."):
            return FIELDS[0]
        named = self.need("field", r"[a-z_]+(\s*\.\s*[a-z_]+)?", "expected a field after '.'")
        named = re.sub(r"\s", "", named)
        if named not in (known := (*FIELDS, *CHANGES, WORSE)):
            raise _wrong(self.text, self.places["field"], unknown_name("field", named, known))
        return named

    def number(self) -> float:
        digits = self.need("number", r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", "expected a number")
        return float(digits) / (100 if self.take("%") else 1)

    def take(self, pattern: str, name: str = "") -> str:
        """What stands next, or "" where it is something else; spaces before it are passed over."""
        start = self.at + len(self.text[self.at :]) - len(self.text[self.at :].lstrip())
        found = re.compile(pattern).match(self.text, start)
        if not found:
            return ""
        if name:
            self.places[name] = start
        self.at = found.end()
        return found[0]

    def need(self, name: str, pattern: str, said: str) -> str:
        found = self.take(pattern, name)
        if not found:
            raise _wrong(self.text, self.at, said)
        return found

    def rest(self) -> str:
        return self.text[self.at :].strip()

    def end(self) -> None:
        if self.rest():
            raise _wrong(self.text, self.at, "expected nothing more")
