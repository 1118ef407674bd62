"""Fine-tuning on D and on D + D': what makes an encoder less sure of objects that usually come together.

"Exposing and Mitigating Spurious Correlations for Cross-Modal Retrieval" (O, section 3.3): D are images with
captions, D' images without some of their objects, with captions that do not name them.
"""

from equiview.making import Maker, job_in
from equiview.mitigation.finetune.settings import FineTuneMaking
from equiview.ours.makers import ABOUT

FINETUNE = Maker(
    name="finetune",
    kind="train",
    about=ABOUT["finetune"],
    settings=FineTuneMaking,
    job=job_in("equiview.mitigation.finetune.train:Training.named"),
    yields="finetuned:{out}",
    result="Fine-tuned",
)
