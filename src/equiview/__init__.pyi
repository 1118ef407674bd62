from equiview import metrics as metrics
from equiview import stats as stats
from equiview.face import Gate as Gate
from equiview.face import InputError as InputError
from equiview.face import Run as Run
from equiview.face import audit as audit
from equiview.face import catalogue as catalogue
from equiview.face import check as check
from equiview.face import compare as compare
from equiview.face import evaluate as evaluate
from equiview.face import open as open
from equiview.face import verify as verify

__version__: str
__all__ = [
    "Gate",
    "InputError",
    "Run",
    "audit",
    "catalogue",
    "check",
    "compare",
    "evaluate",
    "metrics",
    "open",
    "stats",
    "verify",
]
