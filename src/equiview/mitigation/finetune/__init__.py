"""Fine-tuning on D and on D + D': what makes an encoder less sure of objects that usually come together.

"Exposing and Mitigating Spurious Correlations for Cross-Modal Retrieval" (O, section 3.3): D are images with
captions, D' images without some of their objects, with captions that do not name them.
"""

from equiview.making import Job, Maker, register
from equiview.mitigation.finetune.settings import FineTuneMaking


def _job(settings: FineTuneMaking) -> Job:
    from equiview.mitigation.finetune.train import Training

    return Training.named(settings)


FINETUNE = register(
    Maker(
        name="finetune",
        kind="train",
        about="Fine-tune an encoder on images with captions, and on images without some of their objects.",
        settings=FineTuneMaking,
        job=_job,
        yields="finetuned:{out}",
        result="Fine-tuned",
    )
)
