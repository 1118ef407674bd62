"""Taking objects out of pictures, so that a retriever can be asked whether it still sees them (O)."""

from equiview.build.removal.settings import RemovalMakingSettings
from equiview.making import Maker, job_in, register

REMOVAL = register(
    Maker(
        name="removal",
        kind="build",
        about="Pictures from which objects were removed, with captions that do not name them.",
        settings=RemovalMakingSettings,
        job=job_in("equiview.build.removal.build:ObjectRemoval"),
        yields="coco:{out},split=removed",
    )
)
