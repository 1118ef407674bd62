"""How a name typed by a person becomes a subject.

A name is `NAME`, `NAME:ARGUMENT`, a model known by name, or `package.module:Class` for a class of the user's
own. Its module may lie in the folder the command is run in. The class is a `Subject`, or any class with
`encode_images` and `encode_texts`; what follows a second colon is passed to it: `package.module:Class:large`.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from equiview.errors import InputError
from equiview.io.secrets import redacted
from equiview.subjects.base import SUBJECTS, Subject
from equiview.subjects.encoders.base import Encoder
from equiview.subjects.encoders.own import METHODS, OwnModel
from equiview.subjects.known import in_full


def load_subject(name: str) -> Subject:
    """The subject a user names; InputError when nothing is named so, or it cannot be loaded."""
    full = in_full(name)
    scheme, _, argument = full.partition(":")
    if scheme not in SUBJECTS.all() and names_a_class(full):
        subject = load_class(full)
    elif scheme not in SUBJECTS.all() and os.path.lexists(scheme):
        raise InputError(f"{name!r} is a path; {_use_of(Path(scheme))}")
    else:
        subject = SUBJECTS.get(scheme)(argument)
    subject.name = redacted(name)  # it stands in the run and on its page
    return subject


def _use_of(path: Path) -> str:
    """How a subject is named that lies at a path."""
    if path.is_dir():
        return f"vectors in a folder are embeddings:{path}, a model of transformers is hf:{path}"
    if path.suffix == ".py":
        return f"a class in a module is named without .py, {path.stem}:CLASS"
    return f"result lists are run:{path}, answers are answers:{path}"


def as_subject(given: object) -> Subject:
    """A subject that is one already, or any object with `encode_images` and `encode_texts`, as an encoder.

    InputError for anything else.
    """
    if isinstance(given, Subject):
        return given
    missing = [method for method in METHODS if not callable(getattr(given, method, None))]
    if missing:
        raise InputError(
            f"{type(given).__name__} is no subject: name one, or give an encoder with {' and '.join(METHODS)}"
        )
    subject = OwnModel(given, "")
    subject.name = type(given).__name__
    return subject


def load_encoder(name: str) -> Encoder:
    """The encoder a user names; InputError for another kind of subject too."""
    subject = load_subject(name)
    if not isinstance(subject, Encoder):
        raise InputError(f"{name!r} is {subject.kind}; an encoder is needed")
    return subject


def kind_of(name: str) -> str:
    """What kind of subject a name is of, as audits name kinds; "" for a class, which is not loaded to see."""
    scheme = in_full(name).partition(":")[0]
    return str(getattr(SUBJECTS.get(scheme), "kind", "")) if scheme in SUBJECTS.all() else ""


def names_a_class(name: str) -> bool:
    """Whether `name` looks like `module:Class` and its module exists or has a dotted name.

    >>> names_a_class("equiview.subjects.base:Subject"), names_a_class("clip:ViT-B/32")
    (True, False)
    """
    module = re.match(r"([A-Za-z_][\w.]*):[A-Za-z_]\w*(:|$)", name)
    if not module or (module[1].endswith(".py") and os.path.isfile(module[1])):
        return False
    with working_folder():
        try:
            return "." in module[1] or importlib.util.find_spec(module[1]) is not None
        except (ImportError, ValueError):
            return False


def load_class(name: str) -> Subject:
    """The subject of `module:Class[:ARGUMENT]`; InputError says what is missing of it."""
    module_name, class_name, *rest = name.split(":", 2)
    argument = rest[0] if rest else ""
    kind = _class_of(module_name, class_name)
    is_subject = issubclass(kind, Subject)
    missing = [method for method in METHODS if not callable(getattr(kind, method, None))]
    if missing and not is_subject:
        raise InputError(f"{module_name}:{class_name}: an encoder needs a method {' and one '.join(missing)}")
    try:
        model = kind(argument) if is_subject or argument else kind()
    except InputError:
        raise
    except (Exception, SystemExit) as error:  # whatever the user's own code raises
        raise InputError(f"{name}: cannot be created ({type(error).__name__}: {error})") from error
    return model if isinstance(model, Subject) else OwnModel(model, argument)


def _class_of(module_name: str, class_name: str) -> type[Any]:
    with working_folder():
        try:
            module = importlib.import_module(module_name)
        except (Exception, SystemExit) as error:  # whatever the user's own code raises
            reason = f"{type(error).__name__}: {error}"
            raise InputError(f"{module_name}: cannot be imported ({reason})") from error
    kind = getattr(module, class_name, None)
    if not isinstance(kind, type):
        known = [
            name for name, value in vars(module).items() if all(hasattr(value, each) for each in METHODS)
        ]
        listed = ", ".join(sorted(known)) or "none"
        raise InputError(f"{module_name}: has no class {class_name!r}; encoders in it: {listed}")
    return kind


@contextmanager
def working_folder() -> Iterator[None]:
    """Within, modules are searched in the working folder first, as with `python -m`."""
    here = str(Path.cwd())
    sys.path.insert(0, here)
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(here)
