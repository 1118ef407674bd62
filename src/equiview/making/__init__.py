"""Makers: commands that make a benchmark or a subject from a user's own data, and how to add one."""

from equiview.making.base import (
    MAKERS,
    AskingSettings,
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
    "MAKERS",
    "AskingSettings",
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
