"""Re-ranking: a system's results in an order in which each group of them holds its share.

It needs result lists alone. Each method is a maker of its own, `equiview mitigate METHOD`; what it makes is
`reranked:DIR`. What each was worth: docs/mitigation/lists.md.
"""

from equiview.making import Maker, job_in, register
from equiview.mitigation.lists.settings import METHODS

RERANKINGS = [
    register(
        Maker(
            name=name,
            kind="mitigate",
            about=method.about,
            settings=method.settings,
            job=job_in("equiview.mitigation.lists.make:Ordering.named"),
            yields="reranked:{out}",
        )
    )
    for name, method in METHODS.items()
]
