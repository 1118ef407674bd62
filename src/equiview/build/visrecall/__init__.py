"""VisRecall from new places (T, section 3): well-known places with names in every language, and pictures."""

from equiview.build.visrecall.settings import VisRecallSettings
from equiview.making import Maker, job_in
from equiview.ours.makers import ABOUT

VISRECALL = Maker(
    name="visrecall",
    kind="build",
    about=ABOUT["visrecall"],
    settings=VisRecallSettings,
    job=job_in("equiview.build.visrecall.build:VisRecall"),
    yields="visrecall:{out}",
)
