"""Audits: one question each, from observation to answer."""

from equiview.audits.base import AUDITS, Audit, Settings, decide, register

__all__ = ["AUDITS", "Audit", "Settings", "decide", "register"]
