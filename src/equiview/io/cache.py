"""The one folder in which equiview keeps what it can compute again."""

from __future__ import annotations

import os
from pathlib import Path

from platformdirs import user_cache_path


def cache_folder() -> Path:
    """`$EQUIVIEW_CACHE`, or `equiview` in the platform's folder for caches."""
    given = os.environ.get("EQUIVIEW_CACHE")
    return Path(given).expanduser() if given else user_cache_path("equiview", appauthor=False)
