"""Training for a downstream task: a connector between a frozen encoder and a frozen language model.

The recipe is TinyLLaVA's (Zhou et al., 2024), as "From Global to Local: Social Bias Transfer in CLIP" uses it
(section 4.2).
"""

from equiview.making import Maker, job_in, register
from equiview.mitigation.connector.settings import ConnectorMaking

CONNECTOR = register(
    Maker(
        name="connector",
        kind="train",
        about="Join a frozen encoder to a frozen language model, so that it answers and captions.",
        settings=ConnectorMaking,
        job=job_in("equiview.mitigation.connector.train:Training.named"),
        yields="connector:{out}",
        result="Connector",
    )
)
