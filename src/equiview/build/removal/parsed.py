"""What goes from a caption along with a thing that was taken out of the picture: by spaCy's dependency parse.

The rules of `edits`, where a parser says what belongs to what.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from equiview.build.removal.captions import Phrases
from equiview.build.removal.edits import ARTICLES, DONE, SUBJECT, UNCLEAR, Edit, Editor, Refused, Span
from equiview.build.removal.grammar import lists
from equiview.errors import InputError
from equiview.extras import require

INSIDE = frozenset(["compound", "nmod", "poss", "amod", "nummod", "det", "quantmod", "npadvmod", "appos"])
"""Parts of a noun phrase, which goes as a whole."""
OBJECTS = frozenset(["dobj", "obj", "iobj", "dative", "attr", "oprd", "acomp"])
SUBJECTS = frozenset(["nsubj", "nsubjpass", "nsubj:pass", "expl", "csubj"])
PARTS = frozenset(
    """front top back side middle center edge end bottom corner inside group couple bunch pair lot number row
    pile stretch herd flock piece slice""".split()  # noqa: SIM905 - a list of them would take a page
)
"""Nouns of place and of number: "the back of a horse" goes with the horse."""


def _pipeline(model: str) -> Any:
    """A spaCy pipeline, named or a path; InputError for an unusable one or without parser."""
    spacy = require("spacy", "spacy")
    try:
        pipeline: Any = spacy.load(model)
    except (OSError, ValueError) as error:
        raise InputError(
            f"{model}: is no pipeline of spaCy that can be loaded ({' '.join(str(error).split())[:120]})"
        ) from None
    if "parser" not in pipeline.pipe_names:
        raise InputError(f"{model}: has no parser, so it finds no noun phrases; choose a pipeline with one")
    return pipeline


def spacy_phrases(model: str) -> Phrases:
    """Noun phrases by a spaCy pipeline; InputError as of `spacy_editor`."""
    pipeline = _pipeline(model)

    def find(caption: str) -> list[Span]:
        return [(chunk.start_char, chunk.end_char) for chunk in pipeline(caption).noun_chunks]

    return find


def spacy_editor(model: str) -> Editor:
    """Edits by a spaCy pipeline, named or a path; InputError for an unusable one or without parser."""
    pipeline = _pipeline(model)

    def edit(caption: str, spans: Sequence[Span]) -> Edit:
        doc = pipeline(caption)
        gone: set[int] = set()
        changed: dict[Span, str] = {}
        for start, end in spans:
            named = doc.char_span(start, end, alignment_mode="expand")
            if named is None or named.root.i in gone:
                continue
            _drop(named.root, gone, changed)
        return [(doc[at].idx, doc[at].idx + len(doc[at])) for at in sorted(gone)], changed

    return edit


def _drop(  # noqa: PLR0911, PLR0912 - a table
    node: Any, gone: set[int], changed: dict[Span, str]
) -> None:
    """Let the phrase of a word go, with what cannot stay without it."""
    while True:
        head, kind = node.head, node.dep_
        beside = [
            child
            for child in node.children
            if child.dep_ == "conj" and child.pos_ in ("NOUN", "PROPN", "PRON")
        ]
        if kind in INSIDE and kind != "appos":
            node = head
        elif kind == "conj" and node.pos_ != "VERB":
            return _from_list(node, gone, changed)
        elif beside and node.pos_ != "VERB":
            return _first_of_list(node, beside[0], gone, changed)
        elif (
            kind == "pobj"
            or (kind == "prep" and head.pos_ == "ADP")
            or (kind == "prep" and head.lower_ == "next")
        ):
            node = head
        elif kind in ("prep", "agent", "dative", "advmod") and node.pos_ in ("ADP", "ADV", "SCONJ"):
            if head.lemma_ in PARTS and node.lower_ == "of":
                node = head
            elif head.pos_ in ("VERB", "AUX") and _needs(head):
                return _drop_verb(head, gone)
            else:
                gone.update(_subtree(node))
                return None
        elif kind in OBJECTS:
            return _drop_verb(head, gone)
        elif kind in SUBJECTS and head.dep_ in ("advcl", "relcl", "conj", "acl"):
            gone.update(_subtree(head) | _joining(head))
            return None
        elif kind == "appos":
            gone.update(_subtree(node))
            return None
        else:
            if node.pos_ == "VERB":
                raise Refused(DONE)
            raise Refused(SUBJECT if kind in SUBJECTS or kind == "ROOT" else UNCLEAR)


def _needs(verb: Any) -> bool:
    """Whether a verb says nothing without the preposition after it."""
    return verb.lower_ in lists()["bound"] | lists()["needs"] or verb.lemma_ == "be"


def _subtree(node: Any) -> set[int]:
    return {word.i for word in node.subtree if word.dep_ != "punct" or word.i != node.doc[-1].i}


def _joining(node: Any) -> set[int]:
    """The conjunction between a word and what it is joined to."""
    return {word.i for word in node.head.children if word.dep_ == "cc" and node.head.i < word.i < node.i}


def _from_list(node: Any, gone: set[int], changed: dict[Span, str]) -> None:
    """Drop a later member of a list."""
    doc, more = node.doc, [child for child in node.children if child.dep_ == "conj"]
    if more and more[0].pos_ in ("VERB", "AUX"):
        raise Refused(UNCLEAR)
    own = _subtree(node) - set().union(*(_subtree(child) for child in more))
    own -= {word.i for word in node.children if word.dep_ == "cc"} if more else set()
    before = doc[min(own) - 1] if min(own) else None
    if not more and before is not None and before.lower_ == "and" and node.head.dep_ == "conj":
        raise Refused(UNCLEAR)  # "a cat, a dog" would be left of three
    gone.update(own | (_joining(node) if not more else set()))
    subject = node.head
    while subject.dep_ == "conj":
        subject = subject.head
    if not more and subject.dep_ in SUBJECTS:
        _agree(subject, changed)


def _first_of_list(node: Any, other: Any, gone: set[int], changed: dict[Span, str]) -> None:
    """Drop the first member of a list, so that the next takes its place."""
    loose = any(child.lower_ in ARTICLES for child in node.children) and not any(
        child.dep_ in ("det", "poss", "nummod") for child in other.children
    )
    if other.dep_ != "conj" or (loose and other.tag_ == "NN"):
        raise Refused(UNCLEAR)
    first = other.left_edge.i
    gone.update(word.i for word in node.doc[node.left_edge.i : first])
    if node.dep_ in SUBJECTS:
        _agree(other, changed, verb=node.head)


def _agree(subject: Any, changed: dict[Span, str], verb: Any = None) -> None:
    """Let "are" become "is" after a subject that is one thing now."""
    verb = verb or subject.head
    if subject.tag_ not in ("NN", "NNP"):
        return
    for word in [verb, *(child for child in verb.children if child.dep_ in ("aux", "auxpass"))]:
        new = {"are": "is", "were": "was", "have": "has"}.get(word.lower_)
        if new:
            changed[word.idx, word.idx + len(word)] = new
        elif word.tag_ == "VBP":
            raise Refused(UNCLEAR)


def _drop_verb(verb: Any, gone: set[int]) -> None:
    """Drop a verb with its objects; where it is said, if that is a place, stays with the subject."""
    while verb.dep_ in ("xcomp", "ccomp") and verb.head.pos_ in ("VERB", "ADJ", "AUX"):
        verb = verb.head
    if verb.dep_ == "pcomp":
        verb = verb.head
        gone.update(_subtree(verb))
        return
    if verb.dep_ == "relcl":
        gone.update(_subtree(verb))
        return
    subjects = {word.i for child in verb.children if child.dep_ in SUBJECTS for word in child.subtree}
    places = lists()["places"]
    kept = {
        word.i
        for child in verb.children
        if child.dep_ == "prep" and child.lower_ in places and child.i > verb.i
        for word in child.subtree
        if not any(part.i in gone for part in child.subtree)
    }
    joined = [child for child in verb.children if child.dep_ == "conj" and child.pos_ in ("VERB", "AUX")]
    if joined:
        kept = subjects | {word.i for word in joined[0].subtree}
        if joined[0].tag_ == "VBG" and verb.tag_ == "VBG":
            kept |= {child.i for child in verb.children if child.dep_ == "aux"}
        gone.update(_subtree(verb) - kept)
        return
    clauses = [child for child in verb.children if child.dep_ == "advcl"]
    if verb.dep_ == "ROOT" and any(child.dep_ == "mark" for clause in clauses for child in clause.children):
        raise Refused(UNCLEAR)
    if kept and verb.lemma_ != "be":
        subjects |= {child.i for child in verb.children if child.dep_ == "aux" and child.lemma_ == "be"}
    gone.update(_subtree(verb) - subjects - kept)
    if verb.dep_ == "conj":
        gone.update(_joining(verb))
