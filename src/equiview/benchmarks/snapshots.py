"""Data sets of the Hugging Face hub on this machine: a folder in its layout, or what its cache holds."""

from __future__ import annotations

from pathlib import Path

from equiview.errors import InputError
from equiview.extras import require

PAGES = "https://huggingface.co/datasets"


def snapshot(repository: str, revision: str | None, typed: str) -> Path:
    """The folder of a data set, named by its commit: from the local cache, else downloaded to it once.

    InputError, which begins with what was `typed`, where neither has it.
    """
    hub = require("huggingface_hub", "hf")
    asked = {"repo_type": "dataset", **({} if revision is None else {"revision": revision})}
    try:
        return Path(hub.snapshot_download(repository, **asked, local_files_only=True))
    except Exception:  # whatever the library says of what is not there
        pass
    try:
        return Path(hub.snapshot_download(repository, **asked))
    except Exception as error:  # errors of the hub's library, of its HTTP client and of the system
        reason = " ".join(str(error).split())[:160]
        raise InputError(
            f"{typed}: is not in the local cache, and the hub cannot be reached or refuses ({reason}); name "
            "a folder that holds a copy"
        ) from None
