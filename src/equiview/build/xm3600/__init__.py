"""A merged pool of captions in many languages, from a user's own captioned images (Crossmodal-3600)."""

from equiview.build.xm3600.settings import PoolSettings
from equiview.making import Maker, job_in
from equiview.ours.makers import ABOUT

XM3600 = Maker(
    name="xm3600",
    kind="build",
    about=ABOUT["xm3600"],
    settings=PoolSettings,
    job=job_in("equiview.build.xm3600.build:Pool"),
    yields="xm3600:{out}",
)
