"""What a maker is, and how one is added: settings, and a job that says what it takes and does it.

    maker = Maker(name="mine", kind="build", about="...", settings=Mine, job=..., yields="folder:{out}")

`job(settings)` reads and checks the inputs; nothing is written, asked or trained until it is told to make.
What all makers need stands here and beside: the command is made of the settings, the folder is held by one
process, says of what it was made, and is gone on with by the same command.

Ours are packages of the rooms `build` and `mitigation`, registered in their `__init__`, which must import
nothing heavy, and neither does this file: commands are made of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Generic, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from equiview.data.registry import Registry
from equiview.making.options import Option, checked

if TYPE_CHECKING:
    import polars as pl

    from equiview.data.requests import Plan
    from equiview.io.progress import Progress
    from equiview.making.card import Input
    from equiview.making.work import Work
    from equiview.subjects import Answerer


@dataclass(frozen=True)
class Group:
    """Makers of one command: its help, and what it calls what they make."""

    about: str
    result: str


GROUPS = {
    "build": Group(
        "Build new benchmarks from your own material, with models that answer and people who review.",
        "Benchmark",
    ),
    "train": Group("Train a system of your own from an encoder of yours.", "Subject"),
}
"""The commands that make something, by name."""


class Settings(BaseModel):
    """What a user chooses of a maker."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Settings from what a user gave; InputError says which is wrong."""
        return checked(cls, given)


class AskingSettings(Settings):
    """What a user also chooses where models are asked."""

    max_cost: Annotated[float | None, Option(recorded=False)] = Field(
        default=None,
        ge=0,
        description="US dollars after which nothing more is asked; what came is kept.",
    )
    no_cache: Annotated[bool, Option(recorded=False)] = Field(
        default=False, description="Ask everything again and keep no answers."
    )

    def answerers(self, **names: str) -> dict[str, Answerer]:
        """The models of these names, by what each is for; those with an empty name are left out."""
        from equiview.making.models import load_answerers

        given = {purpose: name for purpose, name in names.items() if name}
        return load_answerers(given, cache=not self.no_cache, max_cost=self.max_cost)


@dataclass(frozen=True)
class Task:
    """Work that asks no model: how many of what, and about how long it takes, where that is known."""

    name: str
    count: int
    unit: str
    seconds: float | None = None


@dataclass(frozen=True)
class Outcome:
    """What is shown when all is made: tables by title, lines before the result's name and lines after it."""

    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    before: Mapping[str, str] = field(default_factory=dict)
    after: Mapping[str, str] = field(default_factory=dict)


class Job(ABC):
    """One thing to be made, its inputs read and checked.

    `models` are those that are asked, by what each is for; `versions` are of libraries that can change what
    is made. A folder that was begun with others is refused.
    """

    models: Mapping[str, Answerer] = {}
    versions: Mapping[str, str] = {}

    @abstractmethod
    def inputs(self, progress: Progress) -> Mapping[str, Input]:
        """What it is made from, with fingerprints and licences."""

    @abstractmethod
    def plan(self) -> Sequence[Plan | Task]:
        """What would be asked of models and what else would be done, at most; nothing is done."""

    @abstractmethod
    def make(self, work: Work) -> Outcome:
        """Make it in the folder of `work`, in stages; what is done already is not done again."""


S = TypeVar("S", bound=Settings)


@dataclass(frozen=True)
class Maker(Generic[S]):
    """What makes something new: `equiview KIND NAME` on the command line.

    `about` is one line. `job` reads the inputs that the settings name. `yields` is how what is made is named,
    its folder written `{out}`, and `result` what that is called; by default as its group says.
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
        """How what was made in the folder `out` is named."""
        return self.yields.format(out=out)


MAKERS: Registry[Maker[Any]] = Registry(
    "maker", "equiview.makers", Maker, rooms=("equiview.build", "equiview.mitigation"), light=True
)


def register(maker: Maker[S]) -> Maker[S]:
    """Make a maker known by its name."""
    MAKERS.register(maker.name, about=maker.about, usage=(f"{maker.kind} {maker.name}",))(maker)
    return maker
