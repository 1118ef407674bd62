"""What a maker is, and how one is added: settings, and a job that can be planned and done.

    maker = Maker(name="mine", kind="build", about="...", settings=Mine, job=..., yields="folder:{out}")

`job(settings)` reads and checks the inputs; nothing is written, asked or trained before `Job.make`.
All makers share the rest: the command is generated from the settings; the output folder is locked by one
process, has a card of its inputs and settings, and is continued by the same command.

Our makers are packages in `build` and `mitigation`, and rows of `equiview.ours.makers`. Neither they nor this
file may import heavy libraries: the command line imports them.
"""

from __future__ import annotations

import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Generic, Self, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from equiview.data.registry import Registry
from equiview.errors import InputError
from equiview.makers import GROUPS
from equiview.making.options import Option, checked
from equiview.ours import makers as ours

if TYPE_CHECKING:
    import polars as pl

    from equiview.data.requests import Plan
    from equiview.io.progress import Progress
    from equiview.making.card import Input
    from equiview.making.work import Work
    from equiview.subjects import Answerer


class Settings(BaseModel):
    """The settings of a maker."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Settings from a user's values; InputError names the first wrong one."""
        return checked(cls, given)


class AskingSettings(Settings):
    """The settings of makers that ask models."""

    max_cost: Annotated[float | None, Option(recorded=False)] = Field(
        default=None,
        ge=0,
        description="US dollars after which no more requests are sent; replies are kept.",
    )
    no_cache: Annotated[bool, Option(recorded=False)] = Field(
        default=False, description="Send all requests again and keep no replies."
    )

    def answerers(self, **names: str) -> dict[str, Answerer]:
        """The models by purpose, loaded once for each name; purposes with an empty name are left out.

        All of them share one budget. InputError for a subject that does not answer.
        """
        from equiview.store import stored_answers
        from equiview.subjects import Answerer, load_subject
        from equiview.subjects.budget import Budget

        budget = Budget(self.max_cost)
        models: dict[str, Answerer] = {}
        for name in filter(None, dict.fromkeys(names.values())):
            subject = load_subject(name)
            if not isinstance(subject, Answerer):
                raise InputError(
                    f"{name!r} is {subject.kind}; a builder asks a model that answers, as chat:MODEL is"
                )
            models[name] = subject if self.no_cache else stored_answers(subject)
            models[name].budget = budget
        return {purpose: models[name] for purpose, name in names.items() if name}


Reference: TypeAlias = Annotated[str, Option(recorded=False)]
"""A setting that names a model or an input; the card has its fingerprint instead of the name."""


@dataclass(frozen=True)
class Task:
    """Planned work that asks no model: its count and unit, and its duration where that is known."""

    name: str
    count: int
    unit: str
    seconds: float | None = None


@dataclass(frozen=True)
class Outcome:
    """What to print at the end: tables by title, lines before and after the line with the result."""

    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    before: Mapping[str, str] = field(default_factory=dict)
    after: Mapping[str, str] = field(default_factory=dict)


class Job(ABC):
    """One thing to make, with its inputs read and checked.

    `models` are the models to ask, by purpose; `versions` are those of libraries that can change the result.
    A folder that was begun with other models or versions is refused.
    """

    models: Mapping[str, Answerer] = {}
    versions: Mapping[str, str] = {}

    @abstractmethod
    def inputs(self, progress: Progress) -> Mapping[str, Input]:
        """The inputs, with fingerprints and licences."""

    @abstractmethod
    def plan(self) -> Sequence[Plan | Task]:
        """The most requests and other work that `make` can need; nothing is done."""

    @abstractmethod
    def make(self, work: Work) -> Outcome:
        """Make it in the folder of `work`, in stages; finished stages are skipped."""


S = TypeVar("S", bound=Settings)


@dataclass(frozen=True)
class Maker(Generic[S]):
    """A command that makes something new: `equiview KIND NAME`.

    `about` is one line. `job` reads the inputs named by the settings. `yields` is the name of the result,
    with `{out}` for its folder; `result` is the label before that name, by default that of the group.
    """

    name: str
    kind: str
    about: str
    settings: type[S]
    job: Callable[[S], Job]
    yields: str
    result: str = ""

    def __post_init__(self) -> None:
        if self.kind not in GROUPS:
            raise ValueError(f"maker {self.name!r}: kind {self.kind!r} is none of {', '.join(GROUPS)}")

    def named(self, out: Path) -> str:
        """The name of the result in the folder `out`."""
        return self.yields.format(out=out)


MAKERS: Registry[Maker[Any]] = ours.MAKERS


def job_in(place: str) -> Callable[[Any], Job]:
    """The job at `module:name`, which is imported when it is first needed."""

    def job(settings: Any) -> Job:
        made: Job = pkgutil.resolve_name(place)(settings)
        return made

    return job


def register(maker: Maker[S]) -> Maker[S]:
    """Add a maker to the registry."""
    MAKERS.register(maker.name, about=maker.about, usage=(f"{maker.kind} {maker.name}",))(maker)
    return maker
