"""Checkpoints: what a user names becomes a folder of files that is whole, and a hash of what is in it.

A checkpoint is named `ID_OR_PATH[@REVISION][,option=value...]`: a folder on this machine, or a repository
of the Hugging Face hub, which is fetched once and then found in the hub's own cache.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from equiview.data.arguments import split_argument
from equiview.data.cache import cache_folder
from equiview.data.fingerprint import fingerprint
from equiview.data.tables import checksum, write_bytes
from equiview.errors import InputError
from equiview.subjects._libraries import require

READ = ("*.json", "*.txt", "*.model", "*.spm", "*.py", "*.jinja")
"""Small files that decide what a model does: configuration, tokenizer, preprocessing, prompts, code."""
SAFE, PICKLED = ("*.safetensors",), ("*.bin", "*.pt", "*.pth", "*.pth.tar")


@dataclass(frozen=True)
class Checkpoint:
    """Files of a model: `folder` on this machine, the `name` the user gave, and the options after it."""

    name: str
    folder: Path
    options: dict[str, str] = field(default_factory=dict)

    @classmethod
    def find(cls, argument: str, scheme: str, options: Sequence[str] = (), extra: str = "hf") -> Checkpoint:
        """The checkpoint of `argument`, fetched if need be.

        Raises InputError for an unknown option, a folder that is missing or incomplete, and a repository
        that is neither in the hub's cache nor within reach.
        """
        name, chosen = split_argument(argument, scheme, (*COMMON, *options))
        if not name:
            raise InputError(f"subject {scheme!r} needs a checkpoint: {scheme}:ID_OR_PATH")
        folder = Path(name).expanduser()
        if not folder.is_dir():
            folder = _fetch(name, extra)
        checkpoint = cls(name, folder, chosen)
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
    def weights(self) -> tuple[Path, ...]:
        """The files that hold weights, adapters included: safetensors where there are any, else pickles."""
        for patterns in (SAFE, PICKLED):
            paths = sorted(path for pattern in patterns for path in self.folder.rglob(pattern))
            if paths:
                return tuple(paths)
        return ()

    @cached_property
    def fingerprint(self) -> str:
        """A hash of every weight, configuration, tokenizer and preprocessing file, by content."""
        small = sorted({path for pattern in READ for path in self.folder.rglob(pattern)})
        paths = (*small, *self.weights)
        return fingerprint(
            *(
                part
                for path in paths
                for part in (path.relative_to(self.folder).as_posix(), _content_hash(path))
            )
        )

    def _check_whole(self) -> None:
        for index in self.folder.glob("*.index.json"):
            for shard in sorted(set(self.json(index.name).get("weight_map", {}).values())):
                self.need(shard)
        if not self.weights:
            raise InputError(f"{self.folder}: this checkpoint has no weights (*.safetensors, *.bin or *.pt)")


COMMON = ("device", "dtype", "batch")


def _fetch(name: str, extra: str) -> Path:
    if name.startswith((".", "/", "~")) or not re.fullmatch(r"[\w.-]+(/[\w.-]+)?(@[\w./-]+)?", name):
        raise InputError(f"{name}: no such folder")
    hub = require("huggingface_hub", extra)
    repository, _, revision = name.partition("@")
    where: dict[str, Any] = {"repo_id": repository, "revision": revision or None}
    try:
        files = hub.list_repo_files(**where)
        patterns = SAFE if any(file.endswith(".safetensors") for file in files) else PICKLED
        # Exports for other runtimes and training states are large and not read here.
        unused = ["onnx/*", "openvino/*", "coreml/*", "runs/*", "optimizer*", "*training_args*", "*.msgpack"]
        return Path(hub.snapshot_download(**where, allow_patterns=[*READ, *patterns], ignore_patterns=unused))
    except Exception as unreachable:
        try:
            return Path(hub.snapshot_download(**where, local_files_only=True))
        except Exception:
            raise InputError(
                f"{name}: is no folder here, is not in the hub's cache, and could not be fetched from the "
                f"Hugging Face hub ({type(unreachable).__name__}: {str(unreachable).splitlines()[0]})"
            ) from None


def _content_hash(path: Path) -> str:
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
