"""KnowRecall from new places (T, section 2): questions from articles, checked, translated, selected."""

from equiview.build.knowrecall.settings import KnowRecallSettings
from equiview.making import Maker, job_in
from equiview.ours.makers import ABOUT

KNOWRECALL = Maker(
    name="knowrecall",
    kind="build",
    about=ABOUT["knowrecall"],
    settings=KnowRecallSettings,
    job=job_in("equiview.build.knowrecall.build:KnowRecall"),
    yields="knowrecall:{out}",
)
