import pytest

from equiview.data.arguments import split_argument
from equiview.errors import InputError


def test_a_value_may_hold_commas_and_an_option_equals_signs():
    assert split_argument("a,b/c d,depth=3,url=http://x?y=1", "run", ["depth", "url"]) == (
        "a,b/c d",
        {"depth": "3", "url": "http://x?y=1"},
    )
    assert split_argument("", "run", []) == ("", {})


def test_an_unknown_option_lists_those_there_are():
    with pytest.raises(InputError, match="'run' has no option 'top'; it has: depth"):
        split_argument("x,top=3", "run", ["depth"])
    with pytest.raises(InputError, match="'pictograms' has no option 'top'; it has none"):
        split_argument("x,top=3", "pictograms", [])
