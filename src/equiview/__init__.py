"""Audit perspectival bias in systems that match images with text.

A retriever should return the same whoever asks: what it gives must depend on what was asked, not on
the language or culture of the asker, the people shown, or what usually appears together. equiview
measures where that fails, explains it, and mitigates it.

    import equiview as ev

    run = ev.audit("pictogram:skewed", "pictograms", "prevalence")

Importing this package is cheap: what stands in `__all__` loads when it is first used (its types stand in
`__init__.pyi`), and heavy libraries load inside the functions that need them.
"""

import os
from importlib import import_module
from typing import Any

__version__ = "0.1.0"
__all__ = [
    "Gate",
    "InputError",
    "Run",
    "audit",
    "catalogue",
    "check",
    "compare",
    "evaluate",
    "metrics",
    "open",
    "stats",
    "verify",
]

# ONNX Runtime, from 1.29 on, reports to its makers which models are run, their hashes included, unless it is
# told not to before it is imported. What is audited is nobody else's business.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module 'equiview' has no attribute {name!r}")
    if name in {"metrics", "stats"}:
        return import_module(f"equiview.{name}")
    value = globals()[name] = getattr(import_module("equiview.face"), name)
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
