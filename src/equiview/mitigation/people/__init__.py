"""Debiasing of people: what tells gender, skin or another attribute is projected out of vectors.

`equiview mitigate project` makes `mitigated:DIR`; what it was worth: docs/mitigation/people.md.
"""

from equiview.making import Maker, job_in
from equiview.mitigation.people.settings import ProjectMaking
from equiview.ours.makers import ABOUT

PROJECT = Maker(
    name="project",
    kind="mitigate",
    about=ABOUT["project"],
    settings=ProjectMaking,
    job=job_in("equiview.mitigation.people.make:Projecting.named"),
    yields="mitigated:{out}",
)
