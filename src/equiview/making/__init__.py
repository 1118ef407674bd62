"""Makers: commands that make a benchmark or a subject from a user's own data, and how to add one."""

from equiview.making.base import (
    GROUPS,
    MAKERS,
    AskingSettings,
    Group,
    Job,
    Maker,
    Outcome,
    Reference,
    Settings,
    Task,
    job_in,
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
    "Reference",
    "Settings",
    "Task",
    "job_in",
    "register",
]
