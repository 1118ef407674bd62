"""What goes from a caption along with a thing that was taken out of the picture: by rules, without a parser.

A phrase goes with the preposition or the verb that needs it ("on a horse", "riding a horse"), with what is
said of it ("that has a saddle") and with what it is part of ("the back of a horse"). A caption is refused
that has lost its subject, says nothing but its subject, or is no sentence any more. Ours; O drops the noun
phrase alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from equiview.build.removal.grammar import (
    ADVERB,
    BE,
    CLAUSE,
    COMMA,
    JOIN,
    NOUNS,
    PREPOSITION,
    STOP,
    VERB,
    Phrase,
    is_plural,
    lists,
    phrases_of,
)

Span = tuple[int, int]
Edit = tuple[list[Span], dict[Span, str]]
"""What goes from a caption, and words that others take the place of, as character spans."""
Editor = Callable[[str, Sequence[Span]], Edit]
"""What goes from a caption without the things at these spans; `Refused` where what is left reads badly."""
ARTICLES = frozenset(["a", "an", "the"])
PRONOUNS = frozenset(
    "one all both his her their some many several this that these those another each".split()  # noqa: SIM905
)
"""Determiners that stand for a thing by themselves."""
OWN = frozenset([("his",), ("her",), ("their",), ("its",)])

SUBJECT = "its subject is what was removed"
ALONE = "nothing but a subject is left"
UNCLEAR = "what belongs to the removed phrase is unclear"
BROKEN = "what is left is no sentence"
DONE = "a verb names what was removed"
PRONOUN = "a pronoun that is left may mean what was removed"
NAMED = "what is left still names what was removed"
NO_WORDS = "no word is left"


class Refused(Exception):  # noqa: N818 - it is no mistake
    """A caption has no version that reads well; the message says why."""


@dataclass
class _Edit:
    """Phrases of a caption, those that go, and words that change."""

    phrases: Sequence[Phrase]
    gone: set[int] = field(default_factory=set)
    changed: dict[Span, str] = field(default_factory=dict)

    def kind(self, place: int) -> str:
        """The kind of the phrase at a place; an end beyond the caption."""
        return self.phrases[place].kind if 0 <= place < len(self.phrases) else STOP

    def words(self, place: int) -> tuple[str, ...]:
        """The words of the phrase at a place; none beyond the caption."""
        return self.phrases[place].words if 0 <= place < len(self.phrases) else ()

    def finite(self, start: int, end: int) -> bool:
        """Whether a verb says what somebody does, in phrases from `start` on, up to `end`."""
        return any(phrase.finite for phrase in self.phrases[max(start, 0) : end])

    def clause_end(self, place: int) -> int:
        """The last phrase of the clause that goes on at a place."""
        while self.kind(place) not in (STOP, COMMA) and not (
            place and self.words(place)[:1] in {("while",), ("as",), ("when",), ("where",)}
        ):
            if self.kind(place) == JOIN and self.kind(place + 1) == VERB:
                break
            place += 1
        return place - 1


def edited(caption: str, spans: Sequence[Span]) -> Edit:
    """What goes from a caption without the things at `spans`, and what words become; `Refused` says why not.

    >>> text = "A man is riding a horse in the snow."
    >>> [text[start:end] for start, end in edited(text, [(18, 23)])[0]]
    ['riding', 'a horse']
    """
    edit = _Edit(phrases_of(caption))
    for place, phrase in enumerate(edit.phrases):
        if place in edit.gone or not any(a < phrase.end and phrase.start < b for a, b in spans):
            continue
        if phrase.kind == ADVERB:
            edit.gone.add(place)
            continue
        if phrase.kind != NOUNS:
            raise Refused(DONE if phrase.kind == VERB else UNCLEAR)
        _drop(edit, place)
    gone = [(_from(edit, place), edit.phrases[place].end) for place in sorted(edit.gone)]
    return gone, edit.changed


def _from(edit: _Edit, place: int) -> int:
    """Where what goes of a phrase begins: after "is", if that stays."""
    phrase = edit.phrases[place]
    return phrase.helped if phrase.helped and _keeps_help(edit, place) else phrase.start


def _keeps_help(edit: _Edit, place: int) -> bool:
    """Whether "is" may stay before what follows the phrases that go."""
    after = place + 1
    while after in edit.gone:
        after += 1
    if edit.kind(after) == VERB:
        return not edit.phrases[after].finite
    return edit.kind(after) == PREPOSITION and edit.words(after)[0].replace(" ", "_") in lists()["places"]


def _drop(edit: _Edit, place: int) -> None:
    """Let a noun phrase go, with what cannot stay without it."""
    low, high = _whole(edit, place)
    if _in_list(edit, low, high):
        return
    before = edit.kind(low - 1)
    if before == PREPOSITION:
        while edit.kind(high + 1) == PREPOSITION and edit.words(high + 2)[:1] in OWN:
            high += 2  # "with an umbrella in their hands"
        low = _with_preposition(edit, low)
        joined = PREPOSITION if edit.kind(low - 1) == NOUNS else STOP
        if edit.kind(low) == BE or edit.kind(high + 2) == joined:
            high += edit.kind(high + 1) == JOIN
    elif before == VERB:
        low, high = _with_verb(edit, low, high)
    elif _is_own_clause(edit, low, high):
        low, high = low - 1, edit.clause_end(high + 1)
    else:
        raise Refused(SUBJECT)
    high = high if edit.kind(high) == JOIN else _said_of(edit, low, high)
    while edit.kind(low - 1) == COMMA and edit.kind(high + 1) in (STOP, COMMA):
        low -= 1
    said = {edit.kind(at) for at in range(low, high + 1)} & {VERB, BE}
    if said and edit.kind(high + 1) == JOIN and edit.kind(high + 2) == NOUNS:
        raise Refused(UNCLEAR)
    edit.gone.update(range(low, high + 1))


def _is_own_clause(edit: _Edit, low: int, high: int) -> bool:
    """Whether the phrase begins a part that can go as a whole, as "while a dog runs", or an aside."""
    before = edit.kind(low - 1)
    if before == CLAUSE:
        return edit.words(low - 1)[0] not in ("who", "whom", "whose", "which", "that")
    if before == COMMA:
        return _aside(edit, low, high)
    end = edit.clause_end(high + 1)
    return before == JOIN and edit.finite(0, low - 1) and edit.finite(high + 1, end + 1)


def _whole(edit: _Edit, place: int) -> tuple[int, int]:
    """The places of a noun phrase with what it is of, and what is of or with it."""
    low = high = place
    while edit.words(low - 1) == ("of",) and edit.kind(low - 2) == NOUNS:
        low -= 2
    while edit.words(high + 1)[:1] in {("of",), ("with",), ("full of",)} and edit.kind(high + 2) == NOUNS:
        if _in_background(edit, high + 2):
            break
        high += 2
    return low, high


def _in_background(edit: _Edit, place: int) -> bool:
    """Whether a noun phrase is of what is seen behind, which belongs to the picture as a whole."""
    return edit.words(place + 2)[-1:] in {("background",), ("foreground",), ("distance",)}


def _in_list(edit: _Edit, low: int, high: int) -> bool:
    """Whether the phrase stood beside others ("a dog and a cat"), and went with what joined them."""
    joins = (JOIN, COMMA)
    left = low - 1
    while edit.kind(left) in joins:
        left -= 1
    right = high + 1
    while edit.kind(right) in joins:
        right += 1
    says_on = edit.kind(right + 1) in (VERB, BE) and edit.finite(right + 1, right + 2)
    if right > high + 1 and edit.kind(right) == NOUNS and not (says_on and edit.finite(0, low)):
        loose = edit.words(low)[0] in ARTICLES and edit.words(right)[0] not in lists()["determiners"]
        if loose or (edit.kind(high + 1) == COMMA and edit.kind(low - 1) in (STOP, NOUNS)):
            raise Refused(UNCLEAR)
        _agree(edit, right, right)
        if edit.kind(low - 1) == COMMA and edit.kind(right - 1) == JOIN:
            low, right = low - 1, right - 1
        edit.gone.update(range(low, right))
        return True
    joined = edit.kind(low - 1) == JOIN or edit.kind(high + 1) == JOIN or edit.kind(high + 2) == JOIN
    if joined and left < low - 1 and edit.kind(left) == NOUNS and left not in edit.gone:
        says = edit.kind(high + 1) in (VERB, BE) and edit.finite(high + 1, high + 2)
        if says and edit.finite(0, left):
            return False
        if edit.kind(left - 1) == COMMA or (edit.kind(low - 1) == COMMA and edit.kind(high + 1) != COMMA):
            raise Refused(UNCLEAR)
        if says:
            _agree(edit, left, high)
        edit.gone.update(range(left + 1, high + 1))
        return True
    return False


def _agree(edit: _Edit, place: int, high: int) -> None:
    """Let "are" become "is" after a subject that lost what stood beside it."""
    if is_plural(edit.words(place)) or edit.kind(place - 1) == PREPOSITION or edit.finite(0, place):
        return
    if edit.kind(high + 1) not in (VERB, BE) or not edit.phrases[high + 1].finite:
        return
    verb = edit.phrases[high + 1]
    new = {"are": "is", "were": "was", "have": "has", "do": "does"}.get(verb.words[0])
    if new is None:
        if verb.words[0] in lists()["verbs"]:
            raise Refused(UNCLEAR)
        return
    edit.changed[verb.start, verb.start + len(verb.words[0])] = new


def _with_preposition(edit: _Edit, low: int) -> int:
    """The first place that goes where a preposition stands before: "covered" of "covered with snow" too."""
    low -= 1
    while edit.kind(low - 1) == PREPOSITION:
        low -= 1
    if edit.kind(low - 1) == ADVERB and edit.words(low - 1)[0] not in lists()["adverbs"]:
        low -= 1
    if edit.kind(low - 1) == VERB and (
        edit.words(low - 1)[-1] in lists()["bound"] | lists()["needs"] or edit.words(low - 1)[-1] == "to"
    ):
        return _joined_to(edit, low - 1)
    if edit.kind(low - 1) == BE:
        return low - 1
    return _joined_to(edit, low) if edit.kind(low - 1) == JOIN else low


def _with_verb(edit: _Edit, low: int, high: int) -> tuple[int, int]:
    """The places that go where a verb stands before: what it is done to, and where to, cannot stay either."""
    low -= 1
    while edit.kind(high + 1) == NOUNS or (
        edit.kind(high + 1) == PREPOSITION
        and edit.words(high + 1)[0].replace(" ", "_") not in lists()["places"]
        and edit.kind(high + 2) == NOUNS
        and not _in_background(edit, high + 2)
    ):
        high += 1
    while edit.kind(high + 1) == ADVERB:
        high += 1
    goes_on = edit.kind(high + 1) == JOIN or edit.words(high + 1)[:1] in {("while",), ("as",)}
    if edit.kind(low - 1) not in (JOIN, CLAUSE) and goes_on and edit.kind(high + 2) == VERB:
        return low, high + 1
    return _joined_to(edit, low), high


def _joined_to(edit: _Edit, low: int) -> int:
    """The first place that goes before a verb that goes: what joined it to the words before."""
    while edit.kind(low - 1) in (JOIN, ADVERB, PREPOSITION) or edit.words(low - 1)[:1] in {
        ("while",), ("how",), ("who",), ("that",), ("which",), ("when",), ("before",), ("after",), ("as",),
    }:  # fmt: skip
        low -= 1
    return low


def _aside(edit: _Edit, low: int, high: int) -> bool:
    """Whether a phrase after a comma is an aside: up to a comma or the end, and no finite verb in it."""
    end = edit.clause_end(high + 1)
    return not edit.finite(low, end + 1) and edit.finite(0, low)


def _said_of(edit: _Edit, low: int, high: int) -> int:
    """The last place that goes: what is said of the thing ("that has a saddle", "looking at a man")."""
    after = edit.kind(high + 1)
    if after == CLAUSE and edit.words(high + 1)[0] in ("who", "whom", "whose", "which", "that", "where"):
        return edit.clause_end(high + 2)
    if after == CLAUSE:
        return high
    begins = max((place for place in range(low) if edit.kind(place) == CLAUSE), default=0)
    own = after in (VERB, BE) and edit.finite(high + 1, high + 2) and not edit.finite(begins, low)
    return high if own or after not in (VERB, BE) else edit.clause_end(high + 1)


def fault(caption: str) -> str:
    """Why a caption reads badly; empty where no rule says so.

    >>> fault("On are playing."), fault("A man is playing."), fault("A man.")
    ('what is left is no sentence', '', 'nothing but a subject is left')
    """
    phrases = [phrase for phrase in phrases_of(caption) if phrase.kind != STOP]
    kinds = [phrase.kind for phrase in phrases]
    if kinds[:2] == [PREPOSITION, NOUNS] and NOUNS in kinds[2:4]:  # "in a park, two men"
        start = 2 + kinds[2:].index(NOUNS)
        phrases, kinds = phrases[start:], kinds[start:]
    if not kinds or kinds[0] != NOUNS or _bare(phrases[0]):
        return BROKEN
    if phrases[0].words[0] in ("his", "her", "their", "its"):
        return PRONOUN
    said = [
        phrase for phrase in phrases[1:] if phrase.kind in (VERB, PREPOSITION) and phrase.words != ("of",)
    ]
    if not said and JOIN not in kinds:
        return ALONE
    unsaid = any(
        (phrase.words[0] in ("while", "as") or kinds[place : place + 2] == [JOIN, VERB])
        and not {VERB, BE} & set(kinds[:place])
        for place, phrase in enumerate(phrases)
    )
    apart = any(_apart(one, other) for one, other in pairwise(phrases))
    return BROKEN if unsaid or apart or _hangs(phrases, kinds) else ""


def _bare(phrase: Phrase) -> bool:
    """Whether a noun phrase has lost its noun."""
    return set(phrase.words) <= lists()["determiners"] - PRONOUNS


def _apart(one: Phrase, other: Phrase) -> bool:
    """Whether two phrases cannot follow one another."""
    if one.kind == PREPOSITION:
        return other.kind in (PREPOSITION, JOIN, CLAUSE, BE, COMMA)
    if other.kind == JOIN and one.words[-1].endswith("ly"):
        return True
    joined = one.kind in (BE, JOIN) and other.kind in (BE, JOIN, COMMA)
    return joined or (one.kind == NOUNS and _bare(one))


def _hangs(phrases: Sequence[Phrase], kinds: Sequence[str]) -> bool:
    """Whether a caption ends, or goes on after its subject, with what needs more words."""
    last = phrases[-1]
    others = last.words in (("one",), ("another",), ("the", "other")) and kinds[-2] == COMMA
    needs = last.kind in (PREPOSITION, JOIN, CLAUSE, BE, COMMA)
    needs = needs or last.words[-1] in lists()["transitive"] | {"to", "each", "every"}
    return others or needs or (list(kinds[1:3]) == [COMMA, VERB] and phrases[2].finite)
