"""The transfer of bias put into words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from equiview.studies.transfer.correlate import Pair, detectable
from equiview.studies.transfer.settings import TransferSettings

QUESTION = "Does bias before predict bias after?"
LIMITS = (
    "A correlation over models says nothing of why: models differ in more than their bias.",
    "Each number has an error of its own, which makes correlations weaker than those of the true values.",
)


def shown(pairs: Sequence[Pair], tested: int) -> str:
    """Which way the correlations go that are shown."""
    more = sum(pair.value > 0 for pair in pairs)
    less = len(pairs) - more
    ways = f"models with more of it before have {'more' if more else 'less'} of it after"
    if more and less:
        ways = f"with more of it before there is more after in {more} of them, and less in {less}"
    return f"Yes, in {len(pairs)} of {tested} correlations: {ways}."


def evidence(tested: Sequence[Pair], models: int, settings: TransferSettings) -> Iterator[str]:
    """The strongest correlation, how many there are of each sign, and what could have been seen."""
    if not tested:
        return
    strongest, n = tested[0], len(tested)
    rho = strongest.rho
    assert rho is not None
    about = f" for {strongest.attribute}" if strongest.attribute else ""
    yield (
        f"The strongest of {n}: {strongest.before.label} and {strongest.after.label}{about}: rho "
        f"{rho.value:.2f} [{rho.low:.2f}, {rho.high:.2f}], p {rho.p_value:.3f}, {strongest.p_holm:.3f} after "
        f"Holm, {rho.n} models."
    )
    positive = sum(pair.value > 0 for pair in tested)
    large = sum(abs(pair.value) >= settings.tolerance for pair in tested)
    yield (
        f"{positive} of {n} correlations are above 0; {large} are at least {settings.tolerance:g} from it."
    )
    alone, among = detectable(models, n)
    if among is None:
        which = "a correlation" if alone is None else f"one of {n} correlations"
        yield f"{models} models are too few to show {which}, however strong it is."
    else:
        yield (
            f"With {models} models a correlation is found four times in five only if it is at least "
            f"{alone:.2f}, and among {n} only if it is at least {among:.2f}; a weaker one may be there and "
            "not seen."
        )


def undefined(pairs: Sequence[Pair]) -> tuple[str, ...]:
    """That some correlations are not defined, and why the first of them is not."""
    left = [pair for pair in pairs if pair.rho is None]
    if not left:
        return ()
    first = left[0]
    return (
        f"{len(left)} of {len(pairs)} correlations are not defined, such as that of {first.before.label} and "
        f"{first.after.label}: {first.reason}.",
    )
