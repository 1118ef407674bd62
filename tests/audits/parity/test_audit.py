"""What the parity audit says of itself, held against what it measures."""

from equiview.audits.estimating import joined
from equiview.audits.parity import METRICS, PARITY
from equiview.data.estimates import BASE
from tests.audits import steps
from tests.audits.parity.worlds import of_world


def test_every_metric_and_key_is_described_and_every_value_possible(world, harmed, both, things):
    names = {metric.name: metric for metric in METRICS}
    measured = set()
    for estimates in (of_world(world)[1], harmed[1], both[1], things[1]):
        assert set(estimates.table.columns) - set(BASE) <= {*PARITY.key_formats, "language", "tier"}
        for row in estimates:
            least, greatest = names[row.quantity.metric].range
            assert least <= row.value <= greatest
            measured.add(row.quantity.metric)
    assert measured == set(names)


def test_headlines_are_measured(both, things, world):
    observed, estimates, options = both
    seen = (observed, of_world(world)[0], things[0])
    values = [steps.valued(PARITY, table, options) for table in seen]
    estimates = joined([estimates, things[1]])
    for headline in PARITY.headlines:
        assert any(headline.columns(table) for table in values)
    for key, wanted in PARITY.worst_by:
        assert len(estimates.by((key, "other"), wanted.metric, wanted.k, **wanted.keys))


def test_quantities_are_read_in_words():
    first, *_ = PARITY.headlines
    assert first.quantity.label(PARITY.key_formats) == "gap to pivot, image to text"
    assert PARITY.question.startswith("Does accuracy differ")
