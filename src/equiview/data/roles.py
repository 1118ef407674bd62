"""What a category of a figure stands for, so that the report can give it the colour of that role.

An audit says which of its categories have which role (`Chart.roles`); the report has a colour for each role.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Role = Literal["most", "middle", "least", "unknown", "right", "biased", "wrong"]
"""Steps of a scale and what is on none; a right answer, one that shows bias, and any other wrong one."""
TIER_ROLES: Mapping[str, Role] = {"high": "most", "medium": "middle", "low": "least", "unknown": "unknown"}
"""Tiers of languages."""
OF_PALETTES: Mapping[str, Mapping[str, Role]] = {
    "tier": TIER_ROLES,
    "outcome": {"semantic": "right", "cultural": "biased", "non-relevant": "wrong"},
}
"""Roles in files of figures that are older than roles, and name a palette."""
