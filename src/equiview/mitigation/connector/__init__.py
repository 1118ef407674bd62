"""Training for a downstream task: a connector between a frozen encoder and a frozen language model.

The recipe is TinyLLaVA's (Zhou et al., 2024), as "From Global to Local: Social Bias Transfer in CLIP" uses it
(section 4.2).
"""

from equiview.mitigation.connector.examples import (
    Examples,
    captions_of,
    load_captions,
    load_questions,
    questions_of,
)
from equiview.mitigation.connector.settings import ConnectorSettings
from equiview.mitigation.connector.train import train_connector

__all__ = [
    "ConnectorSettings",
    "Examples",
    "captions_of",
    "load_captions",
    "load_questions",
    "questions_of",
    "train_connector",
]
