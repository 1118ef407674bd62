"""What the audit brings for the report, the comparison and the door."""

import pytest

from equiview.audits import AUDITS
from equiview.audits.association import ASSOCIATION
from equiview.errors import InputError
from equiview.subjects import Subject
from tests.audits.association.planted import audited


def test_it_is_registered():
    assert AUDITS.get("association") is ASSOCIATION


def test_who_is_worst_off_is_listed_by_the_pull():
    _, estimates, _ = audited(0.7)
    assert [key for key, _ in ASSOCIATION.worst_by] == ["language", "language", "country", "country"]
    for key, wanted in ASSOCIATION.worst_by:
        assert wanted.metric == "M_cul - M_non"
        assert len(estimates.by(key, wanted.metric, **wanted.keys)) > 1
        assert ASSOCIATION.metric(wanted.metric).better == "lower"


def test_headlines_read_as_words():
    labels = [headline.quantity.label(ASSOCIATION.key_formats) for headline in ASSOCIATION.headlines]
    assert labels[:3] == ["M_cul - M_non, text to image", "SP, text to image", "M_sem, text to image"]
    assert labels[3] == "M_cul - M_non, image to image"


def test_values_lie_in_the_range_of_their_metric():
    _, estimates, _ = audited(0.7)
    for row in estimates:
        least, most = ASSOCIATION.metric(row.quantity.metric).range
        assert least is None or row.value >= least
        assert most is None or row.value <= most


def test_a_subject_that_is_no_encoder_is_refused():
    class Other(Subject):
        name = "other"

    with pytest.raises(InputError, match="audit 'association' takes an encoder, but 'other' is a subject"):
        ASSOCIATION.check_subject(Other())
