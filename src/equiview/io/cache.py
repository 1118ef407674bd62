"""The one folder in which equiview keeps what it can compute again."""

from __future__ import annotations

import os
from pathlib import Path

from platformdirs import user_cache_path

from equiview.errors import InputError


def cache_folder() -> Path:
    """`$EQUIVIEW_CACHE`, or `equiview` in the platform's folder for caches."""
    given = os.environ.get("EQUIVIEW_CACHE")
    return Path(given).expanduser() if given else user_cache_path("equiview", appauthor=False)


def check_no_link(folder: Path) -> None:
    """InputError where a folder of the cache is a link: nothing is removed through one."""
    if folder.is_symlink():
        raise InputError(
            f"{folder}: is a link, and nothing is removed through a link; "
            "name the cache that it leads to in $EQUIVIEW_CACHE"
        )
