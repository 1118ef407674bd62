"""What an audit is, and how one is added: a folder (or a package of somebody else's) for one question.

    observe(subject, benchmark, settings, progress) -> Observations    slow, runs the subject
    view(observations, settings) -> V                                  what several of the next steps need
    values(view, settings) -> Values                                   one number per query and quantity
    measure(view, settings) -> Estimates                               intervals, chance floors
    draw(view, estimates, settings) -> figures
    judge(estimates, settings) -> Verdict                              the answer
    explore(view) -> RankedLists | None                                what the explorer shows

Everything after `observe` is pure and can be redone without the subject. A view is made once for a run; by
default it is the observations themselves. Whatever the report shows of an audit comes with it: its metrics,
its headlines, whom to list as worst off, how its keys are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Generic, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, model_validator
from typing_extensions import TypeVar

from equiview.audits.power import IMAGES, Unit
from equiview.benchmarks import Benchmark
from equiview.data.estimates import Estimates
from equiview.data.fields import holds_list, listed_words
from equiview.data.figures import Figure
from equiview.data.headline import Headline
from equiview.data.lists import RankedLists
from equiview.data.metric import SHARE, Metric, Quantity, share
from equiview.data.observations import Observations
from equiview.data.registry import Registry
from equiview.data.requests import Plan
from equiview.data.seeds import seed_for
from equiview.data.values import Values
from equiview.data.verdict import Verdict
from equiview.errors import NotApplicableError
from equiview.io.progress import Progress
from equiview.io.refusals import settings_of
from equiview.io.tables import Schema
from equiview.ours import audits as ours
from equiview.subjects import Subject

CUT = share("texts cut", "share of texts of which the encoder reads only the beginning", "lower")
CUT_RANGE = Metric(
    "range of texts cut",
    "largest share of texts cut of a language less the smallest",
    *("lower", "points", SHARE),
)
COMMON = (CUT, CUT_RANGE)
"""Metrics that every audit of encoders reports beside its own, where the encoder knows its limit."""


class Settings(BaseModel):
    """What every audit lets a user choose."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    seed: int = Field(default=0, ge=0, description="what all that is drawn at random begins with")
    replicates: int = Field(default=10_000, ge=100, description="bootstrap and permutation replicates")
    _space: str = PrivateAttr(default="")

    @model_validator(mode="before")
    @classmethod
    def _split_lists(cls, given: Any) -> Any:
        """A list may be given as words between commas, such as sex,tone."""
        if not isinstance(given, Mapping):
            return given
        lists = {name for name, field in cls.model_fields.items() if holds_list(field.annotation)}
        return {
            name: listed_words(value) if name in lists and isinstance(value, str) else value
            for name, value in given.items()
        }

    @property
    def packages(self) -> tuple[str, ...]:
        """Installed packages whose version can change what is observed, by what is chosen."""
        return ()

    def seed_of(self, purpose: str) -> int:
        """A seed of its own for one purpose of this audit."""
        return seed_for(self.seed, f"{self._space}.{purpose}")


Sub = TypeVar("Sub", bound=Subject)
S = TypeVar("S", bound=Settings)
V = TypeVar("V", default=Observations)
R = TypeVar("R")


class View(Generic[S]):
    """Observations with the settings by which they are read: a base for views of an audit's own.

    A view computes what it is asked for when it is first asked, and keeps it (`functools.cached_property`).
    """

    def __init__(self, observations: Observations, settings: S) -> None:
        self.observations, self.settings = observations, settings

    def __getitem__(self, table: str) -> pl.DataFrame:
        return self.observations[table]


def once(function: Callable[[V, S], R]) -> Callable[[V, S], R]:
    """Call `function(view, settings)` once for each view and settings; the view keeps the result."""

    @wraps(function)
    def kept(view: V, settings: S) -> R:
        results: dict[Any, R] = vars(view).setdefault("_once", {})
        key = (function.__module__, function.__qualname__, settings.model_dump_json())
        if key not in results:
            results[key] = function(view, settings)
        return results[key]

    return kept


def as_observed(observations: Observations, _: Settings) -> Any:
    """The observations themselves: the default view."""
    return observations


def no_lists(_: Any) -> RankedLists | None:
    """No lists in the explorer: the default."""
    return None


@dataclass(frozen=True)
class Space(Generic[S]):
    """What a study over several runs needs of an audit, to look at parts of the images' space.

    `images` gives a row for each image: image_id, picture (encoded, or null), words (its caption, or null).
    `vectors` gives their vectors, `(n_images, width)`, in that order. `within` gives the observations of some
    of the images alone, and `metrics` are those by which studies measure their bias.
    """

    images: Callable[[Observations], pl.DataFrame]
    vectors: Callable[[Observations], NDArray[np.float32]]
    within: Callable[[Observations, Sequence[str], S], Observations]
    metrics: tuple[str, ...]


@dataclass(frozen=True)
class Audit(Generic[Sub, S, V]):
    """One question and the functions that answer it.

    `question` is phrased so that "Yes" means biased. `subject` is the kind of subject it audits, or several.
    `schemas` are of the observed tables, which `view` prepares for the steps that follow; `metrics` are of
    everything it reports. `draw` gives None for a figure without data. Runs are summed up and compared by
    `headlines`; the first one opens the report. `worst_by` names keys with the quantity by which the report
    lists who is worst off: by an effect that is tested, those whom it shows to be; for each key the first
    quantity that was measured counts. `key_formats` formats keys for reading (`{"grouping": "by {}"}`);
    `packages` are further distributions whose version can change
    observations. `tables` are tables of its paper by name, such as `table-1`, made from the audit's own
    estimates; the first line of a function's docstring describes its table. `averaged` are metrics whose mean
    over systems is shown when several are compared. `plan` estimates the requests to models that cost money,
    before anything is asked. `space` lets studies look at parts of the images' space. `unit` is what the
    verdict is over. `needs` takes from the benchmark what `observe` rests on, and raises NotApplicableError
    where it is not there: `all` then leaves the audit out.
    """

    name: str
    question: str
    source: str
    subject: type[Sub] | tuple[type[Sub], ...]
    settings: type[S]
    schemas: Mapping[str, Schema]
    metrics: tuple[Metric, ...]
    headlines: tuple[Headline, ...]
    observe: Callable[[Sub, Benchmark, S, Progress], Observations]
    values: Callable[[V, S], Values]
    measure: Callable[[V, S], Estimates]
    draw: Callable[[V, Estimates, S], Iterable[Figure | None]]
    judge: Callable[[Estimates, S], Verdict]
    view: Callable[[Observations, S], V] = as_observed
    worst_by: tuple[tuple[str, Quantity], ...] = ()
    key_formats: Mapping[str, str] = field(default_factory=dict)
    explore: Callable[[V], RankedLists | None] = no_lists
    packages: tuple[str, ...] = ()
    tables: Mapping[str, Callable[[Estimates], pl.DataFrame]] = field(default_factory=dict)
    averaged: tuple[str, ...] = ()
    plan: Callable[[Sub, Benchmark, S], list[Plan]] | None = None
    space: Space[S] | None = None
    unit: Unit = IMAGES
    needs: Callable[[Benchmark, S], object] | None = None

    def configure(self, given: Mapping[str, Any]) -> S:
        """Settings from those of the user; InputError names a wrong one and lists the known ones."""
        settings = settings_of(self.settings, given, f"audit {self.name!r}")
        settings._space = self.name
        return settings

    def check_subject(self, subject: Subject) -> None:
        """InputError when the audit does not take subjects of this kind."""
        kinds = self.subject if isinstance(self.subject, tuple) else (self.subject,)
        if not isinstance(subject, kinds):
            wanted = " or ".join(kind.kind for kind in kinds)
            raise NotApplicableError(
                f"audit {self.name!r} takes {wanted}, but {subject.name!r} is {subject.kind}"
            )

    def metric(self, name: str) -> Metric | None:
        """One of its metrics, or of those of all audits, by name."""
        return next((metric for metric in (*self.metrics, *COMMON) if metric.name == name), None)


AnyAudit: TypeAlias = Audit[Any, Any, Any]
AUDITS: Registry[AnyAudit] = ours.AUDITS


def register(audit: Audit[Sub, S, V]) -> Audit[Sub, S, V]:
    """Make an audit known by its name."""
    AUDITS.register(audit.name, about=audit.question)(audit)
    return audit


def installed(audit: str) -> AnyAudit | None:
    """The audit of that name, or None when it is not installed: its runs can still be shown."""
    entry = AUDITS.all().get(audit)
    return entry.value if entry else None


def label_of(audit: str, wanted: Quantity) -> str:
    """A quantity in the words of its audit."""
    known = installed(audit)
    return wanted.label(known.key_formats if known else None)
