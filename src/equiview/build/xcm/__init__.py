"""Benchmarks of association bias as 3XCM was built (P, section 3.2): concepts, images, review, triplets."""

from equiview.build.xcm.settings import XcmSettings
from equiview.making import Maker, job_in
from equiview.ours.makers import ABOUT

XCM = Maker(
    name="xcm",
    kind="build",
    about=ABOUT["xcm"],
    settings=XcmSettings,
    job=job_in("equiview.build.xcm.build:Xcm"),
    yields="3xcm:{out}",
)
