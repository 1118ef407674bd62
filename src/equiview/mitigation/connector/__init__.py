"""Training for a downstream task: a connector between a frozen encoder and a frozen language model.

The recipe is TinyLLaVA's (Zhou et al., 2024), as "From Global to Local: Social Bias Transfer in CLIP" uses it
(section 4.2).
"""

from equiview.making import Maker, job_in
from equiview.mitigation.connector.settings import ConnectorMaking
from equiview.ours.makers import ABOUT

CONNECTOR = Maker(
    name="connector",
    kind="train",
    about=ABOUT["connector"],
    settings=ConnectorMaking,
    job=job_in("equiview.mitigation.connector.train:Training.named"),
    yields="connector:{out}",
    result="Connector",
)
