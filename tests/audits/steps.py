"""The steps of an audit from what was observed, each with a view of its own."""

from __future__ import annotations

from typing import Any

from equiview.audits import Audit, Settings
from equiview.data.estimates import Estimates
from equiview.data.figures import Figure
from equiview.data.lists import RankedLists
from equiview.data.observations import Observations
from equiview.data.values import Values


def valued(audit: Audit[Any, Any, Any], observations: Observations, settings: Settings) -> Values:
    return audit.values(audit.view(observations, settings), settings)


def measured(audit: Audit[Any, Any, Any], observations: Observations, settings: Settings) -> Estimates:
    return audit.measure(audit.view(observations, settings), settings)


def drawn(
    audit: Audit[Any, Any, Any], observations: Observations, estimates: Estimates, settings: Settings
) -> list[Figure]:
    figures = audit.draw(audit.view(observations, settings), estimates, settings)
    return [figure for figure in figures if figure is not None]


def explored(audit: Audit[Any, Any, Any], observations: Observations) -> RankedLists | None:
    return audit.explore(audit.view(observations, audit.configure({})))
