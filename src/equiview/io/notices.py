"""Notices: what a person should know although nothing is wrong with the run. Each is said once a process."""

from __future__ import annotations

import logging
from functools import cache

LOGGER = "equiview"


@cache
def notice(message: str) -> None:
    """Say one line through the logger `equiview`: on standard error unless logging is set up otherwise."""
    logging.getLogger(LOGGER).warning("equiview: note: %s", message)
