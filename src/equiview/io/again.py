"""Asking a service again while it is busy, each time after a longer wait."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

from equiview.extras import require

TRIES = 6
FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0
PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""HTTP statuses after which the same request may succeed."""

T = TypeVar("T")
log = logging.getLogger(__name__)


@dataclass
class Clock:
    """Time, so that tests need not wait for it: `now` since any moment, `wall` since 1970."""

    now: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep


class BusyError(Exception):
    """No answer now; `wait` is how many seconds the service asks to wait before the next request."""

    def __init__(self, reason: str, wait: float = 0.0) -> None:
        super().__init__(reason)
        self.wait = wait


def ask_again(
    ask: Callable[[], T], name: str, clock: Clock, tries: int = TRIES, extra: str = "services"
) -> T:
    """What `ask` returns, called up to `tries` times while it raises BusyError; the last one is raised.

    `name` is what is said to be silent; `extra` is the one that brings tenacity.
    """
    tenacity = require("tenacity", extra)
    longer = tenacity.wait_exponential(multiplier=FIRST_WAIT, max=LONGEST_WAIT)

    def say(state: Any) -> None:
        message = "%s: no answer (%s); asking again in %g s, try %d of %d"
        reason, wait = state.outcome.exception(), state.next_action.sleep
        log.warning(message, name, reason, wait, state.attempt_number + 1, tries)

    return tenacity.Retrying(  # type: ignore[no-any-return]
        retry=tenacity.retry_if_exception_type(BusyError),
        stop=tenacity.stop_after_attempt(tries),
        wait=lambda state: max(longer(state), state.outcome.exception().wait),
        before_sleep=say,
        sleep=clock.sleep,
        reraise=True,
    )(ask)


def retry_after(value: str, now: float) -> float:
    """The seconds that a header Retry-After asks for, as a number or as a date; 0 where it is neither.

    >>> retry_after("7", now=0), retry_after("Thu, 01 Jan 1970 00:00:09 GMT", now=4), retry_after("soon", 0)
    (7.0, 5.0, 0.0)
    """
    try:
        number = re.fullmatch(r"[\d.]+", value.strip())
        wait = float(value) if number else parsedate_to_datetime(value).timestamp() - now
    except ValueError:
        return 0.0
    return min(LONGEST_WAIT, max(0.0, wait))
