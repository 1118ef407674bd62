"""Templates of pages, from the folder `assets` of a package; every text put into one is escaped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equiview.io.tables import write_bytes

if TYPE_CHECKING:
    from jinja2 import Environment


def templates(package: str, **filters: Callable[..., Any]) -> Environment:
    """The templates of a package with their filters; in them a name that is not given is an error."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(package, "assets"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= filters
    return environment


def write_page(path: Path, package: str, template: str, **content: Any) -> None:
    """Write a template of a package with its content."""
    page = templates(package).get_template(template).render(content)
    write_bytes((page + "\n").encode(), path)
