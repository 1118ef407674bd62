"""The review page: people judge items in a browser, several people each.

A builder writes the items with `write_review`; `equiview review DIR` serves them to people by secret links.
Judgements are stored in a database in that folder, and exported with pseudonyms.
"""

from equiview.review.agreement import Agreement
from equiview.review.export import export_review
from equiview.review.layout import Question, ReviewItem, ReviewSettings, ReviewText, write_review

__all__ = [
    "Agreement",
    "Question",
    "ReviewItem",
    "ReviewSettings",
    "ReviewText",
    "export_review",
    "write_review",
]
