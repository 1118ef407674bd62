"""Whether bias before an adaptation predicts bias after it: S, sections 4.2 to 4.4.

Works on any run folders: what is put together are their estimates, by the keys these carry.
"""

from equiview.studies.transfer.correlate import Pair, correlated
from equiview.studies.transfer.measures import Measure
from equiview.studies.transfer.models import Model, matched
from equiview.studies.transfer.settings import TransferSettings
from equiview.studies.transfer.spaces import similarity
from equiview.studies.transfer.study import transfer

__all__ = ["Measure", "Model", "Pair", "TransferSettings", "correlated", "matched", "similarity", "transfer"]
