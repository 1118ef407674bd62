"""Registries: how a name typed by a person becomes an encoder, a benchmark or an audit.

Ours have a place, in `equiview.ours`, from which they are imported when they are used; a package of somebody
else's names an entry point; a user's own class is reached as `module:Class`.
"""

from __future__ import annotations

import pkgutil
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from equiview.errors import unknown_name

T = TypeVar("T")

_installed = cache(entry_points)
"""The entry points of all packages, whose files are read once for all registries."""


@dataclass(frozen=True)
class Entry(Generic[T]):
    """A registered thing: its name, how to type it, what it is, and how to get the thing."""

    name: str
    usage: tuple[str, ...]
    about: str
    load: Callable[[], T]

    @property
    def value(self) -> T:
        """The thing."""
        return self.load()


@dataclass
class Registry(Generic[T]):
    """Named things of one kind: ours, and those that entry points of other packages name.

    `package` is the group of the entry points, and `holds` names the class of which each is an instance.
    """

    kind: str
    package: str
    holds: str = "builtins:object"
    entries: dict[str, Entry[T]] = field(default_factory=dict)
    _complete: bool = False

    def register(self, name: str, *, about: str, usage: tuple[str, ...] | None = None) -> Callable[[T], T]:
        """Return a decorator that registers what it decorates under `name`."""

        def remember(value: T) -> T:
            self.entries[name] = Entry(name, usage or (name,), about, lambda: value)
            return value

        return remember

    def place(self, where: str, about: str, *usage: str, name: str = "") -> None:
        """Register what is at `where`, `module:name`; it is imported when it is used.

        Its `name` is by default what is typed before any argument.
        """
        name = name or re.split(r"[:[]", usage[0], maxsplit=1)[0]
        self.entries[name] = Entry(name, usage, about, partial(pkgutil.resolve_name, where))

    def all(self) -> dict[str, Entry[T]]:
        """Every entry by name, those of installed packages included."""
        if not self._complete:
            # What another package registers comes after ours, so that it can replace one on purpose.
            for point in _installed().select(group=self.package):
                self._add(point)
            self._complete = True
        return dict(sorted(self.entries.items()))

    def _add(self, point: EntryPoint) -> None:
        """Load what another package names; if that fails, only that is missing, and a warning says so."""
        try:
            value = self._checked(point.load(), point.value)
        except Exception as error:  # whatever somebody else's code raises
            said = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            package = point.dist.name if point.dist else point.value
            warnings.warn(
                f"{self.kind} {point.name!r} of package {package} cannot be loaded and is left out ({said})",
                RuntimeWarning,
                stacklevel=2,
            )
            return
        if point.name not in self.entries:
            about = (value.__doc__ or "").strip().split("\n")[0]
            self.entries[point.name] = Entry(point.name, (point.name,), about, lambda: value)

    def _checked(self, value: Any, where: str) -> Any:
        if not isinstance(value, pkgutil.resolve_name(self.holds)):
            raise TypeError(f"{where} is {type(value).__name__}")
        return value

    def get(self, name: str) -> T:
        """The thing of that name; InputError with the nearest known name otherwise."""
        found = self.all()
        if name not in found:
            usage = [use for entry in found.values() for use in entry.usage]
            raise unknown_name(self.kind, name, usage, f"equiview list {self.kind}s")
        return found[name].value
