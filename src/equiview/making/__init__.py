"""Makers: what makes a benchmark or a subject from a user's own material, and how one is added."""

from equiview.making.base import (
    GROUPS,
    MAKERS,
    AskingSettings,
    Group,
    Job,
    Maker,
    Outcome,
    Settings,
    Task,
    register,
)
from equiview.making.options import Option

__all__ = [
    "GROUPS",
    "MAKERS",
    "AskingSettings",
    "Group",
    "Job",
    "Maker",
    "Option",
    "Outcome",
    "Settings",
    "Task",
    "register",
]
