"""Audits: one question each, from observation to answer."""

from equiview.audits.base import AUDITS, Audit, Settings, View, installed, label_of, once, register
from equiview.audits.judging import decide, largest

__all__ = [
    "AUDITS", "Audit", "Settings", "View", "decide", "installed", "label_of", "largest", "once", "register",
]  # fmt: skip
