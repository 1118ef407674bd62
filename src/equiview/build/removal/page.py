"""The pages of a removal, which load nothing: the contact sheet and the words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from equiview.io.tables import write_bytes
from equiview.io.templates import templates


def write_page(path: Path, template: str, **content: Any) -> None:
    """Write one of the templates in `assets` with its content."""
    page = templates("equiview.build.removal").get_template(template).render(content)
    write_bytes((page + "\n").encode(), path)
