"""Distillation: a text tower learns to say in every language what the encoder says of the English.

M-CLIP's way (Carlsson et al., "Cross-lingual and Multilingual CLIP", LREC 2022): the teacher is the encoder's
own English text tower, images stay as they are. What was measured: docs/mitigation/distill.md.
"""

from equiview.making import Maker, job_in
from equiview.mitigation.distill.settings import DistillMaking
from equiview.ours.makers import ABOUT

DISTILL = Maker(
    name="distill",
    kind="mitigate",
    about=ABOUT["distill"],
    settings=DistillMaking,
    job=job_in("equiview.mitigation.distill.train:Distilling.named"),
    yields="distilled:{out}",
)
