"""The gate: conditions over what runs found, for whoever must not ship what is worse."""

from equiview.studies.gate.grammar import Condition, parse
from equiview.studies.gate.judge import CHECKED, Checked, Gate, Row, Unclear, check, in_tolerances, rows_of

__all__ = [
    "CHECKED",
    "Checked",
    "Condition",
    "Gate",
    "Row",
    "Unclear",
    "check",
    "in_tolerances",
    "parse",
    "rows_of",
]
