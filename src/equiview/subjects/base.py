"""What a subject is, and how a kind of subject is registered under a name.

A subject is what is audited: an encoder, which gives vectors of images and texts, or a system that is known
by the result lists it returns. An audit says which kind it needs. To add a subject, decorate its class::

    @register("mine", about="my model")
    class Mine(EmbeddingModel): ...

What a user types after the colon, as in `mine:large`, is passed to the constructor.
"""

from __future__ import annotations

import traceback
from abc import ABC
from collections.abc import Mapping
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar

from equiview.data.registry import Registry
from equiview.extras import versions_of
from equiview.io.fingerprint import fingerprint
from equiview.ours import subjects as ours


class Subject(ABC):  # noqa: B024 - each kind of subject says what is abstract
    """What is audited: its name, its fingerprint, and what its results depend on."""

    kind: ClassVar[str] = "a subject"
    """What kind of subject it is, as an audit names the kinds it takes."""
    argument: str = ""
    """What the user typed after the colon."""
    packages: ClassVar[tuple[str, ...]] = ()
    """Installed packages whose version can change its results; see `versions`."""
    _name: str = ""

    def __init__(self, argument: str = "") -> None:
        self.argument = argument

    @property
    def name(self) -> str:
        """Its name in reports: what was typed to load it, or the name of its class. Can be set."""
        return self._name or type(self).__name__

    @name.setter
    def name(self, name: str) -> None:
        self._name = name

    @property
    def about(self) -> str:
        """What it is, in a line: the first of its docstring."""
        return (type(self).__doc__ or "").strip().split("\n")[0]

    @property
    def fingerprint(self) -> str:
        """A hash that no other subject has: override it with a hash of the weights or a revision."""
        kind = type(self)
        return fingerprint(kind.__module__, kind.__qualname__, self.argument)

    @property
    def versions(self) -> Mapping[str, str]:
        """Installed versions of the packages that can change its results, by name."""
        return versions_of(*self.packages)

    @property
    def looks(self) -> bool:
        """Whether it decodes pictures itself, so that one that cannot be read stops it."""
        return False

    @property
    def parent(self) -> str | None:
        """The fingerprint of the subject it was derived from, as by fine-tuning, or None."""
        return None


def said_with_place(error: BaseException) -> str:
    """An error of a user's code in one line, with the place where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    last = next((frame for frame in reversed(frames) if "site-packages" not in frame.filename), frames[-1])
    said = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    return f"{said} ({Path(last.filename).name}, line {last.lineno})"


def of_inner(name: str) -> Any:
    """A property that is read from, and set on, `inner`: for a subject around another one."""
    path = f"inner.{name}"
    return property(attrgetter(path), lambda self, value: setattr(self.inner, name, value))


SUBJECTS: Registry[type[Subject]] = ours.SUBJECTS
register = SUBJECTS.register
