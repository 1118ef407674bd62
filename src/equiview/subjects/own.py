"""`package.module:Class`: a class of the user's own, found by importing its module.

The module may lie in the folder the command is run in. The class has `encode_images` and `encode_texts`; it
may be an `Encoder` and may not. What follows a second colon is passed to it: `package.module:Class:large`.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equiview.data.tables import checksum
from equiview.errors import InputError
from equiview.subjects.base import Encoder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from PIL.Image import Image

METHODS = ("encode_images", "encode_texts")
ATTRIBUTES = ("similarity", "image_batch", "text_batch", "fingerprint")


class Own(Encoder):
    """An encoder of the user's own."""

    def __init__(self, model: Any, argument: str) -> None:
        super().__init__(argument)
        self.model = model
        for name in ATTRIBUTES[:3]:
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))

    @property
    def fingerprint(self) -> str:
        """That of the class if it has one, else a hash of its source file and argument."""
        stated = getattr(self.model, "fingerprint", None)
        if stated is not None:
            return str(stated)
        kind = type(self.model)
        source = checksum(Path(inspect.getfile(kind)))
        return hashlib.sha256(f"{kind.__qualname__} {source} {self.argument}".encode()).hexdigest()[:16]

    def encode_images(self, images: Sequence[Image]) -> Any:
        """What the class makes of RGB images."""
        return self.model.encode_images(images)

    def encode_texts(self, texts: Sequence[str]) -> Any:
        """What the class makes of strings."""
        return self.model.encode_texts(texts)


def names_a_class(name: str) -> bool:
    """Whether `name` reads as `module:Class` and a module of that name is there, or could only be meant.

    >>> names_a_class("equiview.subjects.own:Own"), names_a_class("clip:ViT-B/32")
    (True, False)
    """
    module = re.match(r"([A-Za-z_][\w.]*):[A-Za-z_]\w*(:|$)", name)
    if not module:
        return False
    with working_folder():
        try:
            return "." in module[1] or importlib.util.find_spec(module[1]) is not None
        except (ImportError, ValueError):
            return False


def load_own(name: str) -> Encoder:
    """The encoder of `module:Class[:ARGUMENT]`; InputError says what is missing of it."""
    module_name, class_name, *rest = name.split(":", 2)
    argument = rest[0] if rest else ""
    with working_folder():
        try:
            module = importlib.import_module(module_name)
        except Exception as error:  # whatever the user's own code raises
            raise InputError(
                f"{module_name}: cannot be imported ({type(error).__name__}: {error})"
            ) from error
    made = getattr(module, class_name, None)
    if not isinstance(made, type):
        known = sorted(
            key for key, value in vars(module).items() if all(hasattr(value, one) for one in METHODS)
        )
        raise InputError(
            f"{module_name}: has no class {class_name!r}; encoders in it: {', '.join(known) or 'none'}"
        )
    lacking = [method for method in METHODS if not callable(getattr(made, method, None))]
    if lacking:
        raise InputError(f"{module_name}:{class_name}: an encoder needs a method {' and one '.join(lacking)}")
    try:
        takes = issubclass(made, Encoder) or argument
        model = made(argument) if takes else made()
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{name}: cannot be made ({type(error).__name__}: {error})") from error
    return model if isinstance(model, Encoder) else Own(model, argument)


@contextmanager
def working_folder() -> Iterator[None]:
    """The working folder is where modules are looked for first, as with `python -m`."""
    here = str(Path.cwd())
    sys.path.insert(0, here)
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(here)
