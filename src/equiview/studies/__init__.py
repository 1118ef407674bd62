"""Studies: what takes several runs."""

from equiview.studies.averages import averages
from equiview.studies.compare import compare, paired, runs_against
from equiview.studies.neighbourhoods import Neighbourhoods, neighbourhoods

__all__ = ["Neighbourhoods", "averages", "compare", "neighbourhoods", "paired", "runs_against"]
