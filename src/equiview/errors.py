"""Errors that a person can correct: each says in one line what was wrong, where, and what to do."""

from __future__ import annotations

import difflib
import errno
import os
from collections.abc import Iterable

LONGEST = 2000
"""Characters of a message."""


class InputError(ValueError):
    r"""What was wrong, in which file and row, and what to do, in one line.

    The command line prints its message and exits with 1; anything else that escapes is a defect of ours.
    What a file holds may be part of the message, so line breaks and other characters that a terminal would
    obey are written as escapes, and a very long message is cut in the middle.

    >>> print(InputError("texts.csv: language 'en\nsw' is unknown"))
    texts.csv: language 'en\nsw' is unknown
    """

    def __init__(self, message: object = "") -> None:
        text = "".join(
            letter if letter.isprintable() else letter.encode("unicode_escape").decode()
            for letter in str(message)
        )
        super().__init__(
            text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} ... {text[-LONGEST // 2 :]}"
        )


class NotApplicableError(InputError):
    """The subject or the benchmark lacks what this audit takes; another audit may do without."""


class MetricInputError(InputError):
    """An argument is not what the metric is defined for; the message says which, in one line."""


class UndefinedMetricError(MetricInputError):
    """The metric is over nothing: no query, no relevant item, one group. It never becomes 0 or nan."""


class StatsInputError(InputError):
    """An argument is not what the statistic is defined for; the message says which, in one line."""


class UndefinedStatisticError(StatsInputError):
    """The statistic is over nothing: no query, a column nobody was asked. It never becomes 0 or nan."""


def unknown_name(kind: str, name: str, known: Iterable[str], listed: str = "") -> InputError:
    """Say that `name` is no known `kind`, and which known one is nearest.

    `listed` is the command that lists them; it is named in the place of more than a dozen.

    >>> print(unknown_name("audit", "prevalance", ["prevalence", "parity"]))
    no audit is named 'prevalance'; did you mean 'prevalence'? (known: parity, prevalence)
    """
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    said = f"`{listed}` lists them" if listed and len(names) > 12 else f"known: {', '.join(names) or 'none'}"
    return InputError(f"no {kind} is named {name!r}{hint} ({said})")


HINTS = {
    errno.ENOSPC: "make room and run the same command again",
    errno.EDQUOT: "make room and run the same command again",
    errno.EACCES: "choose another place, or allow it",
    errno.EPERM: "choose another place, or allow it",
    errno.EROFS: "choose another place",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.ELOOP: "the links lead in a circle; name the file itself",
    errno.EMFILE: "allow more open files (ulimit -n)",
}
"""What to do about what an operating system refuses."""


UNWRITTEN = ("(os error 27)", "(os error 28)", "(os error 122)", "PytorchStreamWriter", ". unexpected pos ")
"""What safetensors and torch say of a full disk, in errors of their own: no `OSError`."""


def as_input_error(error: BaseException) -> InputError | None:
    """What a user's machine or files did, as an `InputError` in one line; None for a defect of ours.

    Of these kinds: the disk, a file or the network (OSError), memory, text that is not UTF-8, data that is
    nested too deeply.

    >>> print(as_input_error(OSError(errno.ENOSPC, "No space left on device", "runs/a")))
    runs/a: no space left on device; make room and run the same command again
    >>> print(as_input_error(RuntimeError("I/O error: No space left on device (os error 28)")))
    a file cannot be written, is the disk full? (I/O error: No space left on device (os error 28)); make \
room and run the same command again
    >>> as_input_error(ZeroDivisionError()) is None
    True
    """
    if isinstance(error, InputError):
        return error
    if isinstance(error, OSError) or any(said in str(error) for said in UNWRITTEN):
        return InputError(_of_system(error))
    if isinstance(error, MemoryError) or "out of memory" in str(error).lower():
        said = _one_line(error)
        return InputError(
            f"not enough memory{f' ({said})' if said else ''}; use less data or a smaller batch"
        )
    if isinstance(error, UnicodeError):
        return InputError(f"a name or a text is not UTF-8 ({_one_line(error)})")
    if isinstance(error, RecursionError):
        return InputError(f"something in the input is nested too deeply to be read ({_one_line(error)})")
    return None


def _of_system(error: BaseException) -> str:
    if not isinstance(error, OSError):
        return (
            f"a file cannot be written, is the disk full? ({_one_line(error)}); make room and run the same "
            "command again"
        )
    where = " and ".join(os.fsdecode(name) for name in (error.filename, error.filename2) if name is not None)
    said = _one_line(error.strerror or error) or type(error).__name__
    hint = HINTS.get(error.errno or 0, "")
    text = f"{where}: {said[0].lower()}{said[1:]}" if where else said
    return f"{text}; {hint}" if hint else text


def _one_line(said: object) -> str:
    return " ".join(str(said).split())[:200]
