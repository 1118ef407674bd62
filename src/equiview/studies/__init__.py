"""Studies: what takes several runs."""

from equiview.studies.averages import averages
from equiview.studies.compare import compare, paired, runs_against
from equiview.studies.finetuning import Tuned, finetuning
from equiview.studies.neighbourhoods import Neighbourhoods, neighbourhoods

__all__ = [
    "Neighbourhoods",
    "Tuned",
    "averages",
    "compare",
    "finetuning",
    "neighbourhoods",
    "paired",
    "runs_against",
]
