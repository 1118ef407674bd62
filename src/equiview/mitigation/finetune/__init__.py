"""Fine-tuning on D and on D + D': what makes an encoder less sure of objects that usually come together.

"Exposing and Mitigating Spurious Correlations for Cross-Modal Retrieval" (O, section 3.3): D are images with
captions, D' images without some of their objects, with captions that do not name them.
"""

from equiview.mitigation.finetune.pairs import Mixture, Pairs, load_pairs, load_synthetic, mixed, pairs_of
from equiview.mitigation.finetune.settings import FineTuneSettings
from equiview.mitigation.finetune.train import finetune

__all__ = [
    "FineTuneSettings",
    "Mixture",
    "Pairs",
    "finetune",
    "load_pairs",
    "load_synthetic",
    "mixed",
    "pairs_of",
]
