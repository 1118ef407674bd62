"""KnowRecall from new places (T, section 2): questions from articles, checked, translated, selected."""

from equiview.build.knowrecall.settings import KnowRecallSettings
from equiview.making import Maker, job_in, register

KNOWRECALL = register(
    Maker(
        name="knowrecall",
        kind="build",
        about="Questions about places in many languages, from pictures and articles (KnowRecall).",
        settings=KnowRecallSettings,
        job=job_in("equiview.build.knowrecall.build:KnowRecall"),
        yields="knowrecall:{out}",
    )
)
