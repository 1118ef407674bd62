"""Audits: one question each, from observation to answer."""

from equiview.audits.base import AUDITS, Audit, Settings, installed, label_of, register
from equiview.audits.judging import decide, largest

__all__ = ["AUDITS", "Audit", "Settings", "decide", "installed", "label_of", "largest", "register"]
