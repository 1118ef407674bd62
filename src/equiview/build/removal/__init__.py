"""Taking objects out of pictures, so that a retriever can be asked whether it still sees them (O)."""

from equiview.build.removal.settings import RemovalMakingSettings
from equiview.making import Job, Maker, register


def _job(settings: RemovalMakingSettings) -> Job:
    from equiview.build.removal.build import ObjectRemoval

    return ObjectRemoval(settings)


REMOVAL = register(
    Maker(
        name="removal",
        kind="build",
        about="Pictures from which objects were removed, with captions that do not name them.",
        settings=RemovalMakingSettings,
        job=_job,
        yields="coco:{out},split=removed",
    )
)
