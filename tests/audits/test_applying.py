"""`all`: which audits apply, what is said of the others, and that doors and observing agree."""

import logging
import re

import pytest

from equiview.audits import AUDITS
from equiview.audits.applying import chosen
from equiview.benchmarks import load_benchmark
from equiview.errors import InputError, NotApplicableError
from equiview.subjects import load_subject

APPLY = {
    "pictograms": {"individual", "parity", "prevalence"},
    "pictograms-culture": {"association", "parity"},
    "pictograms-people": {"social"},
    "scenes": {"decorrelation", "prevalence"},
}


@pytest.mark.parametrize("benchmark", APPLY)
def test_all_is_every_audit_that_finds_what_it_needs(benchmark, caplog):
    subject, items = load_subject("pictogram:skewed"), load_benchmark(benchmark)
    with caplog.at_level(logging.WARNING, "equiview"):
        names, _ = chosen(subject, items, ["all"])
    assert APPLY[benchmark] <= set(names)
    assert names == sorted(names)
    told = [record.getMessage() for record in caplog.records]
    for name in set(AUDITS.all()) - set(names):
        (line,) = (line for line in told if f"note: {name} does not apply: " in line)
        assert "\n" not in line


def test_every_audit_says_what_it_needs():
    assert all(entry.value.needs is not None for entry in AUDITS.all().values())


@pytest.mark.parametrize("benchmark", ["pictograms-people", "pictograms-quiz", "pictograms-culture"])
def test_what_does_not_apply_cannot_be_observed(benchmark):
    """The door of an audit is the one that its observing goes through."""
    items = load_benchmark(benchmark)

    def refuse(*_):
        raise AssertionError("the subject was asked")

    for entry in AUDITS.all().values():
        audit, settings = entry.value, entry.value.configure({})
        try:
            audit.needs(items, settings)
        except NotApplicableError as error:
            with pytest.raises(NotApplicableError, match=re.escape(str(error))):
                audit.observe(None, items, settings, refuse)


def test_named_audits_stay_and_settings_of_others_are_left_out():
    subject, items = load_subject("pictogram:skewed"), load_benchmark("pictograms-people")
    given = {"prevalence": {"depth": 3}, "social": {"k": 7}, "nosuch": {}}
    names, settings = chosen(subject, items, ["association", "all"], given)
    assert {"association", "social"} <= set(names)  # whoever names one is told that it cannot be observed
    assert "knowledge" not in names
    assert {"social", "nosuch"} <= set(settings)
    assert chosen(subject, items, ["prevalence"], given) == (["prevalence"], given)


def test_an_audit_whose_input_is_wrong_applies(world):
    """What is lacking is not what is wrong: of that an audit fails, and is named."""
    images = (world / "images.csv").read_text().splitlines()
    labels = ["n/a", "woman", "man"]
    rows = [f"{line},{labels[place % 3]}" for place, line in enumerate(images[1:])]
    (world / "images.csv").write_text("\n".join([images[0] + ",gender", *rows]) + "\n")
    subject, items = load_subject(f"embeddings:{world}"), load_benchmark(f"folder:{world}")
    assert "social" in chosen(subject, items, ["all"])[0]
    with pytest.raises(InputError, match="looks like a missing value"):
        AUDITS.get("social").observe(subject, items, AUDITS.get("social").configure({}), print)


def test_where_no_audit_applies_all_is_an_error(monkeypatch):
    subject, items = load_subject("pictogram:skewed"), load_benchmark("pictograms-quiz")
    only = {name: entry for name, entry in AUDITS.all().items() if name in {"knowledge", "memory"}}
    monkeypatch.setattr(AUDITS, "entries", only)
    with pytest.raises(InputError) as error:
        chosen(subject, items, ["all"])
    said = str(error.value)
    assert said.startswith("no audit applies to 'pictogram:skewed' on 'pictograms-quiz': knowledge: audit")
    assert said.count("takes a model that answers, but 'pictogram:skewed' is an encoder") == 2
