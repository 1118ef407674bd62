"""VisRecall from new places (T, section 3): well-known places with names in every language, and pictures."""

from equiview.build.visrecall.settings import VisRecallSettings
from equiview.making import Job, Maker, register


def _job(settings: VisRecallSettings) -> Job:
    from equiview.build.visrecall.build import VisRecall

    return VisRecall(settings)


VISRECALL = register(
    Maker(
        name="visrecall",
        kind="build",
        about="Well-known places with names in every language, and pictures of them (VisRecall).",
        settings=VisRecallSettings,
        job=_job,
        yields="visrecall:{out}",
    )
)
