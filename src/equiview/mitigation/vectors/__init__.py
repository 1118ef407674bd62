"""Corrections at query time: vectors are changed by language, or by what else one part of a benchmark shows.

Each method is a maker of its own, `equiview mitigate METHOD`; what it fits is a `Correction` of
`subjects.correction`, and what it makes is `mitigated:DIR`. What each was worth: docs/mitigation/vectors.md.
"""

from equiview.making import Maker, job_in, register
from equiview.mitigation.vectors.settings import METHODS

MITIGATIONS = [
    register(
        Maker(
            name=name,
            kind="mitigate",
            about=method.about,
            settings=method.settings,
            job=job_in("equiview.mitigation.vectors.make:fitting"),
            yields="mitigated:{out}",
        )
    )
    for name, method in METHODS.items()
]
