"""Checkpoints: from the name that a user typed to a complete folder of files and a hash of its content.

A checkpoint is named `ID_OR_PATH[@REVISION][,option=value...]`: a folder on this machine, or a repository
of the Hugging Face hub, which is fetched once and then found in the hub's own cache.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from equiview.data.arguments import split_argument
from equiview.errors import InputError
from equiview.extras import require
from equiview.io.cache import cache_folder
from equiview.io.fingerprint import fingerprint
from equiview.io.tables import checksum, write_bytes

READ = (".json", ".txt", ".model", ".spm", ".py", ".jinja")
"""Ends of small files that decide what a model does: configuration, tokenizer, prompts, code."""
SAFE = ".safetensors"
FORMATS = ((SAFE,), (".bin",), (".pt", ".pth", ".pth.tar"))
"""Ends of files of weights; of a folder that has several kinds the first is read."""
UNUSED = re.compile(
    r"(^|/)(\.|(onnx|openvino|coreml|runs|original|checkpoint-\d+|global_step\d+)/"
    r"|(optimizer|scheduler|rng_state|training_args)[^/]*$)"
)
"""Exports for other runtimes, copies of other libraries and training states: large, and not read here."""
OPEN_CLIP = "open_clip_"
"""The prefix of OpenCLIP's files, which lie beside those of transformers."""


@dataclass(frozen=True)
class Checkpoint:
    """Files of a model: `folder` on this machine, the `name` the user gave, and the options after it.

    With `open_clip` OpenCLIP's files are read where there are any, and else never.
    """

    name: str
    folder: Path
    options: dict[str, str] = field(default_factory=dict)
    open_clip: bool = False

    @classmethod
    def find(
        cls,
        argument: str,
        scheme: str,
        options: Sequence[str] = (),
        extra: str = "hf",
        *,
        open_clip: bool = False,
    ) -> Checkpoint:
        """The checkpoint of `argument`, fetched if need be.

        Raises InputError for an unknown option, a folder that is missing or incomplete, and a repository
        that is neither in the hub's cache nor within reach.
        """
        name, chosen = split_argument(argument, scheme, (*COMMON, *options))
        if not name:
            raise InputError(f"subject {scheme!r} needs a checkpoint: {scheme}:ID_OR_PATH")
        folder = Path(name).expanduser()
        if not folder.is_dir():
            folder = _fetch(name, extra, open_clip)
        checkpoint = cls(name, folder, chosen, open_clip)
        checkpoint._check_whole()
        return checkpoint

    def json(self, name: str = "config.json") -> dict[str, Any]:
        """One of its JSON files; InputError when it is absent or not JSON."""
        path = self.need(name)
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except (ValueError, OSError) as error:
            raise InputError(f"{path}: cannot be read as JSON ({error})") from None
        if not isinstance(content, dict):
            raise InputError(f"{path}: holds {type(content).__name__}; expected an object")
        return content

    def need(self, *names: str) -> Path:
        """The first of these files that exists; InputError when none does."""
        for name in names:
            if (self.folder / name).is_file():
                return self.folder / name
        raise InputError(f"{self.folder}: this checkpoint has no {' nor '.join(names)}; is it complete?")

    @cached_property
    def files(self) -> tuple[Path, ...]:
        """The files that decide its vectors: configuration, tokenizer, preprocessing, prompts, weights."""
        present = (path.relative_to(self.folder) for path in self.folder.rglob("*") if path.is_file())
        return tuple(self.folder / name for name in files_read(map(Path.as_posix, present), self.open_clip))

    @cached_property
    def weights(self) -> tuple[Path, ...]:
        """The files that hold weights, adapters included: of each folder in one format."""
        return tuple(path for path in self.files if format_of(path.name) is not None)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of every weight, configuration, tokenizer and preprocessing file, by content."""
        return files_hash(self.folder, self.files)

    def _check_whole(self) -> None:
        if not self.weights:
            if not self.open_clip and any(self.folder.glob(f"{OPEN_CLIP}*")):
                raise InputError(f"{self.name}: this checkpoint is OpenCLIP's; say open_clip:{self.name}")
            raise InputError(f"{self.folder}: this checkpoint has no weights (*.safetensors, *.bin or *.pt)")
        formats = {(path.parent, format_of(path.name)) for path in self.weights}
        for index in (path for path in self.files if path.name.endswith(".index.json")):
            name = index.relative_to(self.folder).as_posix()
            for shard in sorted(set(self.json(name).get("weight_map", {}).values())):
                # A repository may have an index for each format; indexes of unread formats are ignored.
                if (index.parent, format_of(shard)) in formats:
                    self.need((index.parent / shard).relative_to(self.folder).as_posix())


def format_of(name: str) -> int | None:
    """The place among FORMATS of a file of weights, None for other files.

    >>> format_of("model.safetensors"), format_of("model_best.pth.tar"), format_of("config.json")
    (0, 2, None)
    """
    return next((place for place, ends in enumerate(FORMATS) if name.endswith(ends)), None)


def files_read(names: Iterable[str], open_clip: bool = False) -> list[str]:
    """The files of a repository that are read, in order of their names.

    Each folder has its own format of weights. With `open_clip` weights are OpenCLIP's where there are any.

    >>> files_read(["model.safetensors", "pytorch_model.bin", "2_Dense/pytorch_model.bin", "README.md"])
    ['2_Dense/pytorch_model.bin', 'model.safetensors']
    """
    used = sorted(name for name in names if not UNUSED.search(name))
    theirs = {name for name in used if PurePosixPath(name).name.startswith(OPEN_CLIP)}
    weights = [name for name in used if format_of(name) is not None]
    if open_clip and not theirs.isdisjoint(weights):
        weights = [name for name in weights if name in theirs]
    elif not open_clip:
        used = [name for name in used if name not in theirs]
        weights = [name for name in weights if name not in theirs]
    best: dict[PurePosixPath, int] = {}
    for name in weights:
        folder, place = PurePosixPath(name).parent, format_of(name) or 0
        best[folder] = min(place, best.get(folder, place))
    chosen = {name for name in weights if format_of(name) == best[PurePosixPath(name).parent]}
    return [name for name in used if name in chosen or name.endswith(READ)]


COMMON = ("device", "dtype", "batch")


def _fetch(name: str, extra: str, open_clip: bool) -> Path:
    if name.startswith((".", "/", "~")) or not re.fullmatch(r"[\w.-]+(/[\w.-]+)?(@[\w./-]+)?", name):
        raise InputError(f"{name}: no such folder")
    hub = require("huggingface_hub", extra)
    repository, _, revision = name.partition("@")
    where: dict[str, Any] = {"repo_id": repository, "revision": revision or None}
    try:
        files = files_read(hub.list_repo_files(**where), open_clip)
        return Path(hub.snapshot_download(**where, allow_patterns=[glob.escape(file) for file in files]))
    except Exception as unreachable:
        try:
            return Path(hub.snapshot_download(**where, local_files_only=True))
        except Exception:
            raise InputError(
                f"{name}: is not a folder, is not in the hub's cache, and could not be fetched from the "
                f"Hugging Face hub ({type(unreachable).__name__}: {str(unreachable).splitlines()[0]})"
            ) from None


def code_of(repository: str, revision: str, extra: str = "hf") -> Path:
    """The folder of a repository's program code at a revision, named by its commit; fetched if need be."""
    hub = require("huggingface_hub", extra)
    where: dict[str, Any] = {"repo_id": repository, "revision": revision or None, "allow_patterns": ["*.py"]}
    try:
        return Path(hub.snapshot_download(**where))
    except Exception as unreachable:
        try:
            return Path(hub.snapshot_download(**where, local_files_only=True))
        except Exception:
            raise InputError(
                f"{repository}: its program code is not in the hub's cache and could not be fetched "
                f"({type(unreachable).__name__}: {str(unreachable).splitlines()[0]})"
            ) from None


def files_hash(folder: Path, paths: Iterable[Path]) -> str:
    """A hash of files in a folder by name and content."""
    return fingerprint(
        *(part for path in paths for part in (path.relative_to(folder).as_posix(), content_hash(path)))
    )


def content_hash(path: Path) -> str:
    """SHA-256 of a file, remembered between runs by its path, size and time of change."""
    real = path.resolve()
    # The hub's cache names a large file by its SHA-256 and links to it.
    if path.is_symlink() and real.parent.name == "blobs" and re.fullmatch(r"[0-9a-f]{64}", real.name):
        return real.name
    state = real.stat()
    if state.st_size < 2**20:
        return checksum(real)
    state_now = f"{state.st_size} {state.st_mtime_ns} "
    note = cache_folder() / "checksums" / fingerprint(os.fsencode(real))
    try:
        remembered = note.read_text()
    except (OSError, ValueError):
        remembered = ""
    if remembered.startswith(state_now):
        return remembered.removeprefix(state_now)
    content = checksum(real)
    with contextlib.suppress(OSError):  # if it cannot be remembered, it is computed again next time
        write_bytes((state_now + content).encode(), note)
    return content
