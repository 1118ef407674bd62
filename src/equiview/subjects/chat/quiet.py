"""What Inspect does to the logging of a process: kept to itself, and without secrets.

It writes a trace of every request to a file of its own, and there what services say, which may repeat a key.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from equiview.io.secrets import redacted

INSPECT = "inspect_ai"


HOLD_WORDS = ("msg", "error", "stacktrace", "exc_text")
"""Fields of a record that may hold what a service said."""


class NoSecrets(logging.Filter):
    """Takes secrets out of what a record says."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Always true: every record is kept."""
        if record.args:
            record.msg, record.args = record.getMessage(), ()
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        for name in HOLD_WORDS:
            if isinstance(value := getattr(record, name, None), str):
                setattr(record, name, redacted(value))
        return True


def hide_secrets() -> None:
    """From now on Inspect logs no secret, neither to its trace nor to the console."""
    for handler in logging.getLogger(INSPECT).handlers:
        if not any(isinstance(there, NoSecrets) for there in handler.filters):
            handler.addFilter(NoSecrets())


@contextmanager
def logging_kept() -> Iterator[None]:
    """Restore the root logger and the hook for uncaught errors afterwards."""
    root = logging.getLogger()
    level, handlers, hook = root.level, root.handlers[:], sys.excepthook
    try:
        yield
    finally:
        for handler in set(root.handlers) - set(handlers):
            root.removeHandler(handler)
        root.setLevel(level)
        sys.excepthook = hook
