"""Taking objects out of pictures, so that a retriever can be asked whether it still sees them (O)."""

from equiview.build.removal.settings import RemovalMakingSettings
from equiview.making import Maker, job_in
from equiview.ours.makers import ABOUT

REMOVAL = Maker(
    name="removal",
    kind="build",
    about=ABOUT["removal"],
    settings=RemovalMakingSettings,
    job=job_in("equiview.build.removal.build:ObjectRemoval"),
    yields="coco:{out},split=removed",
)
