"""Studies: what takes several runs."""

from equiview.studies.averages import averages
from equiview.studies.compare import compare, runs_against

__all__ = ["averages", "compare", "runs_against"]
