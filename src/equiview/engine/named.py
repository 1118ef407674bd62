"""The engine that a name stands for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from equiview.engine.base import Engine, Local
from equiview.errors import unknown_name


@contextmanager
def opened(name: str | Engine) -> Iterator[Engine]:
    """The engine called `local`, `ray` or `ray:ADDRESS`, closed afterwards; an engine itself is left open.

    InputError for another name, where Ray is not installed, and for an address at which no cluster answers.

    >>> with opened("local") as engine:
    ...     engine.workers
    1
    """
    if isinstance(name, Engine):
        yield name
        return
    scheme, colon, address = name.partition(":")
    if name == "local":
        yield Local()
    elif scheme == "ray" and bool(colon) == bool(address):
        from equiview.engine.cluster import RayEngine

        with RayEngine(address) as engine:
            yield engine
    else:
        raise unknown_name("engine", name, ("local", "ray", "ray:ADDRESS"))
