"""The pages' HTML, from templates that escape every text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from equiview.data.languages import language_name
from equiview.io.templates import templates
from equiview.review.agreement import Agreement
from equiview.review.decisions import Opinion, decide
from equiview.review.layout import Question
from equiview.review.opening import Review
from equiview.review.people import Person
from equiview.review.votes import all_opinions, contested, judged_before, judged_by, opinions_on

if TYPE_CHECKING:
    from jinja2 import Environment

ASSETS = {"review.css": "text/css", "review.js": "text/javascript", "icon.svg": "image/svg+xml"}
"""The files that pages load besides pictures, with their types."""


@cache
def asset(name: str) -> str:
    """The content of a template, a style sheet or a script."""
    return files("equiview.review").joinpath("assets", name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    return templates("equiview.review", language=language_name, percent=_percent)


def entering(review: Review, person: Person) -> str:
    """The page of a secret link: it redirects at once to the address without the secret."""
    return _rendered("enter.html", review, person)


def item_page(review: Review, person: Person, number: int, csrf: str) -> str:
    """One item with what is asked of it, and a person's own answers where they gave some."""
    connection = review.database.connection
    opinions = opinions_on(connection, number)
    given = next((opinion.answers for opinion in opinions if opinion.author == person.pseudonym), {})
    judge = person.role == "adjudicator"
    asked = contested(opinions, review.settings) if judge else review.settings.questions
    return _rendered(
        "item.html",
        review,
        person,
        csrf=csrf,
        number=number,
        item=review.items[number],
        shown=review.shown(number),
        questions=[(question, given.get(question.id)) for question in asked],
        said=_said(asked, opinions) if judge else {},
        settled=_settled(review, asked, opinions) if judge else [],
        changing=bool(given),
        back=judged_before(connection, person, number),
        **_progress(review, person),
    )


def end_page(review: Review, person: Person) -> str:
    """The page without an item: all are judged, or the rest is open on others' screens."""
    back = judged_before(review.database.connection, person, None)
    return _rendered("end.html", review, person, back=back, **_progress(review, person))


def coordinator_page(review: Review, person: Person, agreement: Sequence[Agreement]) -> str:
    """Progress by person and group, agreement, and links to the exports."""
    connection = review.database.connection
    with review.database.snapshot():
        opinions = all_opinions(connection)
        last = dict(connection.execute("SELECT person, MAX(time) FROM votes GROUP BY person").fetchall())
    states: Counter[str] = Counter()
    given: Counter[str] = Counter()
    groups: dict[str, list[int]] = {}
    for number, item in review.items.items():
        said = opinions.get(number, [])
        given.update(opinion.author for opinion in said)
        states.update({decision.state for decision in decide(said, review.settings)})
        reviewers = sum(opinion.role == "reviewer" for opinion in said)
        group = groups.setdefault(item.group or "", [0, 0])
        group[0] += reviewers >= review.settings.people_per_item
        group[1] += 1
    people = [
        (other, given[other.pseudonym], review.assignment.left(other)[0], last.get(other.number))
        for other in review.people.values()
        if other.role == "reviewer"
    ]
    return _rendered(
        "coordinator.html",
        review,
        person,
        complete=sum(done for done, _ in groups.values()),
        judgements=sum(count for _, count, _, _ in people),
        states=states,
        reviewers=people,
        groups=sorted(groups.items()) if len(groups) > 1 else [],
        agreement=agreement,
    )


def _rendered(template: str, review: Review, person: Person, **context: Any) -> str:
    page = _environment().get_template(template)
    return page.render(review=review, settings=review.settings, person=person, **context)


def _progress(review: Review, person: Person) -> dict[str, int]:
    connection = review.database.connection
    if person.role == "adjudicator":
        left, extra = connection.execute("SELECT COUNT(*), 0 FROM disputes").fetchone()
    else:
        left, extra = review.assignment.left(person)
    return {"judged": judged_by(connection, person), "left": left, "extra": extra}


def _said(asked: Sequence[Question], opinions: Sequence[Opinion]) -> dict[str, list[tuple[str, str]]]:
    """Who answered what, by question, reviewers only."""
    return {
        question.id: [
            (opinion.author, opinion.answers.get(question.id, "no answer"))
            for opinion in opinions
            if opinion.role == "reviewer"
        ]
        for question in asked
    }


def _settled(
    review: Review, asked: Sequence[Question], opinions: Sequence[Opinion]
) -> list[tuple[Question, Mapping[str, int]]]:
    """The questions that nobody needs to decide, with how often each answer was given."""
    open_ids = {question.id for question in asked}
    decisions = decide(opinions, review.settings)
    return [
        (question, decision.counts)
        for question, decision in zip(review.settings.questions, decisions, strict=True)
        if question.id not in open_ids
    ]


def _percent(part: int, whole: int) -> str:
    """A share in whole percent that is 100 only when everything is there.

    >>> _percent(999, 1000), _percent(1000, 1000)
    ('99%', '100%')
    """
    return f"{100 * part // whole}%" if whole else "0%"
