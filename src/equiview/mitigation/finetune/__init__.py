"""Fine-tuning on D and on D + D': what makes an encoder less sure of objects that usually come together.

"Exposing and Mitigating Spurious Correlations for Cross-Modal Retrieval" (O, section 3.3): D are images with
captions, D' images without some of their objects, with captions that do not name them.
"""

from equiview.making import Maker, job_in, register
from equiview.mitigation.finetune.settings import FineTuneMaking

FINETUNE = register(
    Maker(
        name="finetune",
        kind="train",
        about="Fine-tune an encoder on images with captions, and on images without some of their objects.",
        settings=FineTuneMaking,
        job=job_in("equiview.mitigation.finetune.train:Training.named"),
        yields="finetuned:{out}",
        result="Fine-tuned",
    )
)
