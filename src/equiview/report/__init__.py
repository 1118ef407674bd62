"""What a person reads: the HTML page, tables to paste, the comparison, published numbers beside a run."""

from equiview.report.page import page
from equiview.report.tables import FORMATS, export

__all__ = ["FORMATS", "export", "page"]
