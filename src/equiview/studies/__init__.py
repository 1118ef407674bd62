"""Studies: what takes several runs."""

from equiview.studies.compare import compare

__all__ = ["compare"]
