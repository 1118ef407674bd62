"""The script of another project that ships with the report is the one that its table says."""

from __future__ import annotations

import hashlib
import re
from importlib.resources import files


def test_plotly_is_the_file_that_its_table_names() -> None:
    vendor = files("equiview.report").joinpath("assets", "vendor")
    content = vendor.joinpath("plotly-cartesian.min.js").read_bytes()
    table = vendor.joinpath("README.md").read_text("utf-8")
    (version,) = re.findall(r"plotly\.js \(cartesian - minified\) v([\d.]+)", content[:200].decode())
    assert f"| plotly.js {version} |" in table
    assert f"| {hashlib.sha256(content).hexdigest()} |" in table
    assert "MIT" in vendor.joinpath("plotly.LICENSE").read_text("utf-8")
