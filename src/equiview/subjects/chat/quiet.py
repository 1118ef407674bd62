"""Inspect's logging, without side effects on the process and without secrets.

It writes a trace of every request to a file of its own, with messages of services, which may repeat a key.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from equiview.io.secrets import redacted

INSPECT = "inspect_ai"
HOLD_WORDS = ("msg", "error", "stacktrace", "exc_text")
"""Fields of a record that may hold a service's message."""


class NoSecrets(logging.Filter):
    """Masks secrets in records."""

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
    """From now on Inspect logs no secret to its trace or to the console."""
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
