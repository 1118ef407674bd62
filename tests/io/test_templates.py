"""Templates escape what they are given, and need all that they name."""

from __future__ import annotations

import pytest
from jinja2 import UndefinedError

from equiview.io.templates import templates

PACKAGES = ("equiview.build", "equiview.report", "equiview.review")


@pytest.mark.parametrize("package", PACKAGES)
def test_every_text_is_escaped_and_every_name_needed(package: str) -> None:
    page = templates(package, twice=lambda text: text * 2).from_string("{{ said | twice }} {{ said }}")
    assert page.render(said="<b>") == "&lt;b&gt;&lt;b&gt; &lt;b&gt;"
    with pytest.raises(UndefinedError, match="said"):
        page.render()


@pytest.mark.parametrize("package", PACKAGES)
def test_the_pages_of_a_package_are_found(package: str) -> None:
    assert "base.html" in templates(package).list_templates()
