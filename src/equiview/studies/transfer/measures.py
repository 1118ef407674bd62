"""The numbers that are correlated: for each quantity of the runs, its value for each model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from equiview.audits import installed, label_of
from equiview.data.metric import Quantity, quantity
from equiview.errors import InputError
from equiview.studies.alike import measured
from equiview.studies.transfer.models import Model
from equiview.studies.transfer.settings import TransferSettings, parsed

Shape = tuple[str, int | None, frozenset[str]]


@dataclass(frozen=True)
class Measure:
    """One quantity of one audit on one benchmark, and its value for each model by name.

    `quantity` leaves out the keys of the attribute and of the group, which are empty where it has none.
    """

    audit: str
    benchmark: str
    quantity: Quantity
    attribute: str = ""
    group: str = ""
    values: dict[str, float] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """What it is, without its attribute: `MaxSkew@1000 on fairface-val`."""
        return f"{label_of(self.audit, self.quantity)} on {self.benchmark}"


def measures(models: Sequence[Model], side: str, settings: TransferSettings) -> list[Measure]:
    """The measures of the runs before or after (`side`) that the settings ask for, without groups.

    By default the headlines of each audit, and only those with an attribute if there are any. Rows with too
    few items to judge by are skipped. InputError when no run has a number that was asked for.
    """
    every = _all(models, side, settings)
    asked = [parsed(text) for text in (settings.before if side == "before" else settings.after)]
    if not asked:
        usual = [entry for entry in every if not entry.group and _headline(entry, settings)]
        return [entry for entry in usual if entry.attribute] or usual
    for wanted in asked:
        if not any(_is(entry, wanted) for entry in every):
            known = sorted({_spelt(entry.quantity) for entry in every if not entry.group})
            raise InputError(f"no run {side} has {_spelt(wanted)!r}; they have: {'; '.join(known[:20])}")
    return [entry for entry in every if not entry.group and any(_is(entry, wanted) for wanted in asked)]


def grouped(
    models: Sequence[Model], side: str, chosen: Sequence[Measure], settings: TransferSettings
) -> list[list[Measure]]:
    """Quantities by group, of attributes with two groups, as pairs of measures in the order of the runs.

    Only those whose other keys are those of a chosen measure: `R@5` of image to text beside its divergence.
    """
    wanted = {(entry.audit, entry.benchmark, entry.quantity.items, entry.attribute) for entry in chosen}
    pairs: dict[tuple[str, str, Quantity, str], list[Measure]] = {}
    for entry in _all(models, side, settings):
        if entry.group and (entry.audit, entry.benchmark, entry.quantity.items, entry.attribute) in wanted:
            pairs.setdefault((entry.audit, entry.benchmark, entry.quantity, entry.attribute), []).append(
                entry
            )
    return [entries for entries in pairs.values() if len(entries) == 2]


def value_of(model: Model, wanted: Quantity) -> float | None:
    """A quantity of a model's runs before, whichever has it; InputError when several do and differ."""
    found = {
        (run.folder, audit): estimate.value
        for run in model.before
        for audit in measured(run)
        if (estimate := run.estimates.of(audit).at(wanted)) is not None
    }
    if len(set(found.values())) > 1:
        raise InputError(f"{model.name}: {_spelt(wanted)!r} differs between runs before; name its keys")
    return next(iter(found.values()), None)


def _all(models: Sequence[Model], side: str, settings: TransferSettings) -> list[Measure]:
    series: dict[tuple[str, str, Quantity, str, str], Measure] = {}
    for model in models:
        for run in model.before if side == "before" else model.after:
            card = run.manifest.benchmark
            for audit in measured(run):
                for estimate in run.estimates.of(audit):
                    if estimate.judged is False:
                        continue
                    keys = estimate.quantity.keys
                    attribute, group = keys.pop(settings.attribute, ""), keys.pop(settings.group, "")
                    about = quantity(estimate.quantity.metric, estimate.quantity.k, **keys)
                    place = (audit, card.fingerprint, about, attribute, group)
                    entry = series.setdefault(place, Measure(audit, card.name, about, attribute, group))
                    entry.values[model.name] = estimate.value
    return list(series.values())


def _headline(entry: Measure, settings: TransferSettings) -> bool:
    """Whether it is a headline of its audit, for any attribute; True for an audit that is not installed."""
    known = installed(entry.audit)
    if known is None or not known.headlines:
        return True
    shapes = {_shape(headline.quantity, settings) for headline in known.headlines}
    return _shape(entry.quantity, settings) in shapes


def _shape(wanted: Quantity, settings: TransferSettings) -> Shape:
    return wanted.metric, wanted.k, frozenset(wanted.keys) - {settings.attribute, settings.group}


def _is(entry: Measure, wanted: Quantity) -> bool:
    same_k = wanted.k is None or entry.quantity.k == wanted.k
    return entry.quantity.metric == wanted.metric and same_k and entry.quantity.items == wanted.items


def _spelt(wanted: Quantity) -> str:
    cutoff = "" if wanted.k is None else f"@{wanted.k}"
    return ",".join([wanted.metric + cutoff, *(f"{key}={value}" for key, value in wanted.items)])
