"""Debiasing of people: what tells gender, skin or another attribute is projected out of vectors.

`equiview mitigate project` makes `mitigated:DIR`; what it was worth: docs/mitigation/people.md.
"""

from equiview.making import Maker, job_in, register
from equiview.mitigation.people.settings import ProjectMaking

PROJECT = register(
    Maker(
        name="project",
        kind="mitigate",
        about=ProjectMaking.__doc__ or "",
        settings=ProjectMaking,
        job=job_in("equiview.mitigation.people.make:Projecting.named"),
        yields="mitigated:{out}",
    )
)
