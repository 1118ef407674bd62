"""Training for a downstream task: a connector between a frozen encoder and a frozen language model.

The recipe is TinyLLaVA's (Zhou et al., 2024), as "From Global to Local: Social Bias Transfer in CLIP" uses it
(section 4.2).
"""

from equiview.making import Job, Maker, register
from equiview.mitigation.connector.settings import ConnectorMaking


def _job(settings: ConnectorMaking) -> Job:
    from equiview.mitigation.connector.train import Training

    return Training.named(settings)


CONNECTOR = register(
    Maker(
        name="connector",
        kind="train",
        about="Join a frozen encoder to a frozen language model, so that it answers and captions.",
        settings=ConnectorMaking,
        job=_job,
        yields="connector:{out}",
        result="Connector",
    )
)
