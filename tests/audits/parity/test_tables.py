"""F's Table 1 from estimates."""

import pytest

from equiview.audits.parity import TABLES, table_1
from equiview.errors import InputError
from tests.audits.parity.worlds import of_world


def test_table_1_has_the_layout_of_the_paper(harmed):
    _, estimates, _ = harmed
    table = table_1(estimates)
    assert table.equals(TABLES["table-1"](estimates))
    assert table.columns == ["language", "group", "White", "Black", "Indian", "Latino", "Average"]
    assert len(table) == 8 * 3
    turkish = table.filter(language="tr")
    assert turkish["group"].to_list() == ["Female", "Male", "gap"]
    women = {"task": "gender", "language": "tr", "attribute": "gender", "group": "Female"}
    black = estimates.one("accuracy", **women, within="race", within_group="Black")
    assert turkish["Black"][0] == round(100 * black.value, 1)
    assert turkish["Average"][0] == round(100 * estimates.one("accuracy", **women).value, 1)
    assert turkish["Black"][2] == pytest.approx(abs(turkish["Black"][0] - turkish["Black"][1]), abs=0.11)


def test_a_run_without_the_labels_has_no_table_1(world, harmed):
    with pytest.raises(
        InputError, match="no accuracy of gender by group; it needs labels of gender and race"
    ):
        table_1(of_world(world)[1])
    with pytest.raises(InputError, match="it needs labels of gender and skin"):
        table_1(harmed[1], within="skin")
