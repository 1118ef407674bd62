"""Registries: how a name typed by a person becomes an encoder, a benchmark or an audit.

Ours register themselves when their file is imported, or have a place from which they are imported when they
are used; a package of somebody else's names an entry point; a user's own class is reached as `module:Class`.
"""

from __future__ import annotations

import importlib
import pkgutil
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
    """Named things of one kind, found in packages or modules of ours and in entry points of others.

    `package` is the group of the entry points, and the package of ours unless `rooms` names others. With
    `light` only the `__init__` of each of their subpackages is imported, and not what lies beside it.
    """

    kind: str
    package: str
    holds: type = object
    """What each is an instance of."""
    rooms: tuple[str, ...] = ()
    light: bool = False
    entries: dict[str, Entry[T]] = field(default_factory=dict)
    _complete: bool = False

    def register(self, name: str, *, about: str, usage: tuple[str, ...] | None = None) -> Callable[[T], T]:
        """Return a decorator that registers what it decorates under `name`."""

        def remember(value: T) -> T:
            self.entries[name] = Entry(name, usage or (name,), about, lambda: value)
            return value

        return remember

    def place(self, name: str, where: str, *, about: str, usage: tuple[str, ...] | None = None) -> None:
        """Register what is at `where`, `module:name`; it is imported when it is used."""
        self.entries[name] = Entry(name, usage or (name,), about, partial(pkgutil.resolve_name, where))

    def all(self) -> dict[str, Entry[T]]:
        """Every entry by name, those of installed packages included."""
        if not self._complete:
            # An entry point of another package is loaded after ours, so that it can replace one on purpose.
            for room in self.rooms or (self.package,):
                package = importlib.import_module(room)
                for module in pkgutil.walk_packages(getattr(package, "__path__", ()), f"{room}."):
                    if module.ispkg or not self.light:
                        importlib.import_module(module.name)
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
        if not isinstance(value, self.holds):
            raise TypeError(f"{where} is {type(value).__name__}")
        return value

    def get(self, name: str) -> T:
        """The thing of that name; InputError with the nearest known name otherwise."""
        found = self.all()
        if name not in found:
            usage = [use for entry in found.values() for use in entry.usage]
            raise unknown_name(self.kind, name, usage, f"equiview list {self.kind}s")
        return found[name].value
