"""TOML that cannot be read is said in one line, whatever is wrong with it."""

import pytest
from pydantic import BaseModel

from equiview.errors import InputError
from equiview.io.toml import parse_toml, parse_toml_as


class Point(BaseModel):
    x: int


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"[a", "is not TOML"),
        (b"a = " + b"[" * 5000 + b"]" * 5000, "nested too deeply"),
        (b"a = " + b"1" * 5000, "is not TOML"),
        (b'b = 1\na = "\xff"', "line 2: is not UTF-8 text"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(content, said):
    with pytest.raises(InputError, match=said) as caught:
        parse_toml(content, "x.toml")
    assert str(caught.value).startswith("x.toml")
    assert "\n" not in str(caught.value)


def test_a_model_names_the_field():
    assert parse_toml_as(Point, b"x = 2", "x.toml").x == 2
    with pytest.raises(InputError, match=r"x\.toml: x: input should be a valid integer"):
        parse_toml_as(Point, b'x = "a"', "x.toml")
