"""Studies: what takes several runs."""

from equiview.studies.averages import averages
from equiview.studies.compare import compare

__all__ = ["averages", "compare"]
