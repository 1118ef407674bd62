"""Parts of pages that labs write are found again, and nothing beside them changes."""

import pytest
from labs.marked import part_of, with_part

PAGE = "above\n<!-- one -->\n\n1\n\n<!-- end -->\n<!-- two -->\n\n2\n\n<!-- end -->\nbelow\n"


def test_a_part_is_replaced_and_nothing_else():
    assert part_of(PAGE, "two") == "2"
    assert with_part(PAGE, "one", "3\n") == PAGE.replace("1", "3")
    assert with_part(PAGE, "two", part_of(PAGE, "two")) == PAGE


@pytest.mark.parametrize("page", ["", "<!-- one -->\n1\n", PAGE + PAGE])
def test_a_page_without_the_part_is_refused(page):
    with pytest.raises(ValueError, match="must have <!-- one --> once, and <!-- end --> after it"):
        with_part(page, "one", "3")
