"""KnowRecall from new places (T, section 2): questions from articles, checked, translated, selected."""

from equiview.build.knowrecall.settings import KnowRecallSettings
from equiview.making import Job, Maker, register


def _job(settings: KnowRecallSettings) -> Job:
    from equiview.build.knowrecall.build import KnowRecall

    return KnowRecall(settings)


KNOWRECALL = register(
    Maker(
        name="knowrecall",
        kind="build",
        about="Questions about places in many languages, from pictures and articles (KnowRecall).",
        settings=KnowRecallSettings,
        job=_job,
        yields="knowrecall:{out}",
    )
)
