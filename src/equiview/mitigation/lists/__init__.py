"""Re-ranking: a system's results in an order in which each group of them holds its share.

It needs result lists alone. Each method is a maker of its own, `equiview mitigate METHOD`; what it makes is
`reranked:DIR`. What each was worth: docs/mitigation/lists.md.
"""

from equiview.making import Maker, job_in
from equiview.mitigation.lists.settings import METHODS, ListMaking
from equiview.ours.makers import ABOUT


def _maker(name: str) -> Maker[ListMaking]:
    return Maker(
        name=name,
        kind="mitigate",
        about=ABOUT[name],
        settings=METHODS[name],
        job=job_in("equiview.mitigation.lists.make:Ordering.named"),
        yields="reranked:{out}",
    )


INTERLEAVE, FAIR_TOPK, RRF, DETGREEDY, DETCONS, DETRELAXED, DETCONSTSORT, FA_IR, EXPOSURE = map(
    _maker, METHODS
)
