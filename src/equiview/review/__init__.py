"""The review page: people judge items, a few people each, in a browser.

A builder describes what is judged and writes it with `write_review`; `equiview review DIR` serves it to
people by secret links. What they say is kept in a database in that folder, and exported with pseudonyms.
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
