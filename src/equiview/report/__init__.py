"""What a person reads: the HTML page, tables to paste, the comparison, published numbers beside a run."""

from equiview.report.layouts import export_layout, lay_out, list_layouts
from equiview.report.page import page, page_of
from equiview.report.tables import FORMATS, export

__all__ = ["FORMATS", "export", "export_layout", "lay_out", "list_layouts", "page", "page_of"]
