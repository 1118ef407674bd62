"""VisRecall from new places (T, section 3): well-known places with names in every language, and pictures."""

from equiview.build.visrecall.settings import VisRecallSettings
from equiview.making import Maker, job_in, register

VISRECALL = register(
    Maker(
        name="visrecall",
        kind="build",
        about="Well-known places with names in every language, and pictures of them (VisRecall).",
        settings=VisRecallSettings,
        job=job_in("equiview.build.visrecall.build:VisRecall"),
        yields="visrecall:{out}",
    )
)
