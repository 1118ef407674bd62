"""What a person reads: the HTML page, tables to paste, the comparison, published numbers beside a run."""

from equiview.report.layouts import export_layout, lay_out, list_layouts
from equiview.report.page import page, page_of
from equiview.report.tables import CARDS, FORMATS, export, export_comparison

__all__ = [
    "CARDS",
    "FORMATS",
    "export",
    "export_comparison",
    "export_layout",
    "lay_out",
    "list_layouts",
    "page",
    "page_of",
]
