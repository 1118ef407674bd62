"""Corrections at query time: vectors are changed by language, or by what else one part of a benchmark shows.

Each method is a maker of its own, `equiview mitigate METHOD`; what it fits is a `Correction` of
`subjects.correction`, and what it makes is `mitigated:DIR`. What each was worth: docs/mitigation/vectors.md.
"""

from equiview.making import Maker, job_in
from equiview.mitigation.vectors.settings import METHODS, VectorMaking
from equiview.ours.makers import ABOUT


def _maker(name: str) -> Maker[VectorMaking]:
    return Maker(
        name=name,
        kind="mitigate",
        about=ABOUT[name],
        settings=METHODS[name],
        job=job_in("equiview.mitigation.vectors.make:fitting"),
        yields="mitigated:{out}",
    )


CENTER, WHITEN, LEACE, INLP, STANDARDIZE, NORMALIZE, CSLS, LEVEL = map(_maker, METHODS)
