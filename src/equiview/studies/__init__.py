"""Studies: what takes several runs."""

from equiview.studies.alike import told_apart
from equiview.studies.averages import averages
from equiview.studies.compare import compare, paired, runs_against
from equiview.studies.mitigation import Changed, mitigation
from equiview.studies.neighbourhoods import Neighbourhoods, neighbourhoods

__all__ = [
    "Changed",
    "Neighbourhoods",
    "averages",
    "compare",
    "mitigation",
    "neighbourhoods",
    "paired",
    "runs_against",
    "told_apart",
]
