"""Audit perspectival bias in systems that match images with text.

A retriever should return the same whoever asks: what it gives must depend on what was asked, not on
the language or culture of the asker, the people shown, or what usually appears together. equiview
measures where that fails, explains it, and mitigates it.

Importing this package is cheap: heavy libraries load inside the functions that need them.
"""

import os

__version__ = "0.1.0"

# ONNX Runtime, from 1.29 on, reports to its makers which models are run, their hashes included, unless it is
# told not to before it is imported. What is audited is nobody else's business.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
