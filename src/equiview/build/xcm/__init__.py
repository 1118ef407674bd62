"""Benchmarks of association bias as 3XCM was built (P, section 3.2): concepts, images, review, triplets."""

from equiview.build.xcm.settings import XcmSettings
from equiview.making import Maker, job_in, register

XCM = register(
    Maker(
        name="xcm",
        kind="build",
        about="Triplets of images of concepts x countries, from the web or your own (3XCM).",
        settings=XcmSettings,
        job=job_in("equiview.build.xcm.build:Xcm"),
        yields="3xcm:{out}",
    )
)
