"""The verdict: whether bias before predicts bias after, and what so few models could have shown."""

from __future__ import annotations

from collections.abc import Sequence

from equiview.data.metric import quantity
from equiview.data.verdict import Effect, Verdict
from equiview.errors import UndefinedStatisticError
from equiview.stats import detectable_correlation
from equiview.studies.transfer.correlate import Pair
from equiview.studies.transfer.settings import TransferSettings

QUESTION = "Does bias before predict bias after?"
ALPHA = 0.05
RHO = "rho"


def judged(pairs: Sequence[Pair], models: int, settings: TransferSettings) -> Verdict:
    """What the correlations say together.

    "biased" (Yes) when a correlation is shown after Holm's correction over all of them; "fair" (No) when the
    interval of each lies within the tolerance; else "unclear", which is what few models usually give.
    """
    tested = [pair for pair in pairs if pair.rho is not None]
    if not tested:
        answer = "Not decided: no correlation could be computed."
        return Verdict(finding="unclear", answer=answer, limits=_undefined(pairs)).stamped(
            "transfer", QUESTION
        )
    ordered = sorted(tested, key=lambda pair: -abs(_rho(pair)))
    shown = [pair for pair in ordered if (pair.p_holm or 0.0) <= ALPHA]
    none = all(
        abs(end) <= settings.tolerance for pair in tested if pair.rho for end in (pair.rho.low, pair.rho.high)
    )
    if shown:
        finding, answer = "biased", _yes(shown, len(tested))
    elif none:
        finding, answer = "fair", f"No: every correlation lies within {settings.tolerance:g} of none."
    else:
        finding, answer = "unclear", f"Not decided: {_none_of(len(tested))} is shown with {models} models."
    strongest = ordered[0]
    return Verdict(
        finding=finding,  # type: ignore[arg-type]
        answer=answer,
        evidence=_evidence(strongest, tested, models, settings),
        limits=(*_limits(), *_undefined(pairs)),
        effect=Effect(
            quantity=quantity(RHO, None, **strongest.keys), tolerance=settings.tolerance, among=len(tested)
        ),
    ).stamped("transfer", QUESTION)


def said(pair: Pair) -> str:
    """A correlation in words."""
    rho = pair.rho
    assert rho is not None
    interval = f"[{rho.low:.2f}, {rho.high:.2f}]"
    about = f" for {pair.attribute}" if pair.attribute else ""
    return (
        f"{pair.before.label} and {pair.after.label}{about}: rho {rho.value:.2f} {interval}, "
        f"p {rho.p_value:.3f}, {pair.p_holm:.3f} after Holm, {rho.n} models"
    )


def _rho(pair: Pair) -> float:
    return pair.rho.value if pair.rho else 0.0


def _yes(shown: Sequence[Pair], tested: int) -> str:
    more = sum(_rho(pair) > 0 for pair in shown)
    less = len(shown) - more
    if not less:
        ways = "models with more of it before have more of it after"
    elif not more:
        ways = "models with more of it before have less of it after"
    else:
        ways = f"with more of it before there is more after in {more} of them, and less in {less}"
    return f"Yes, in {len(shown)} of {tested} correlations: {ways}."


def _none_of(tested: int) -> str:
    return "no correlation" if tested == 1 else f"none of {tested} correlations"


def _evidence(
    strongest: Pair, tested: Sequence[Pair], models: int, settings: TransferSettings
) -> tuple[str, ...]:
    positive = sum(_rho(pair) > 0 for pair in tested)
    fair = sum(abs(_rho(pair)) >= settings.tolerance for pair in tested)
    return (
        f"The strongest of {len(tested)}: {said(strongest)}.",
        f"{positive} of {len(tested)} correlations are above 0; {fair} are at least "
        f"{settings.tolerance:g} from it.",
        _power(models, len(tested)),
    )


def detectable(models: int, tested: int) -> tuple[float | None, float | None]:
    """The least correlation that is found with 80% power, alone and among all; None where none can be."""
    least: list[float | None] = []
    for alpha in (ALPHA, ALPHA / tested):
        try:
            least.append(detectable_correlation(models, alpha=alpha))
        except UndefinedStatisticError:
            least.append(None)
    return least[0], least[1]


def _power(models: int, tested: int) -> str:
    alone, among = detectable(models, tested)
    if among is None:
        which = "a correlation" if alone is None else f"one of {tested} correlations"
        return f"{models} models are too few to show {which}, however strong it is."
    return (
        f"With {models} models a correlation is found four times in five only if it is at least {alone:.2f}, "
        f"and among {tested} only if it is at least {among:.2f}; a weaker one may be there and not seen."
    )


def _limits() -> tuple[str, ...]:
    return (
        "A correlation over models says nothing of why: models differ in more than their bias.",
        "Each number has an error of its own, which makes correlations weaker than those of the true values.",
    )


def _undefined(pairs: Sequence[Pair]) -> tuple[str, ...]:
    left = [pair for pair in pairs if pair.rho is None]
    if not left:
        return ()
    first = left[0]
    return (
        f"{len(left)} of {len(pairs)} correlations are not defined, such as that of {first.before.label} and "
        f"{first.after.label}: {first.reason}.",
    )
