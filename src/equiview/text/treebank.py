"""Words of English text in lower case, as the Penn Treebank splits them.

VSE++ leaves that to NLTK's `word_tokenize`, whose rules began as Robert MacIntyre's script for the Treebank
(1995). Where a sentence ends NLTK decides with a trained model; here it ends at `.`, `?` or `!` before a
space, but not after an initial, a number or a common abbreviation.
"""

from __future__ import annotations

import re
from functools import reduce

ABBREVIATIONS = r"ave|co|corp|dr|ft|inc|jr|lt|ltd|mr|mrs|ms|ok|prof|sr|st|vs|(?:\w\.)*[^\W\d]"
SENTENCE_END = re.compile(
    rf"(?<![^\s(])(?:(?:{ABBREVIATIONS})\.(?!\w)|\d[\d.,]*\.(?=\s+[a-z]))"
    r"|(?P<end>[.?!][])}\"']*(?:\s+|(?=[;*:@({[])))"
)
DIVIDED = ("can not", "d 'ye", "gim me", "gon na", "got ta", "lem me", "more 'n", "wan na")
RULES = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"^\"|(?<=[ (\[{<])(?:\"|'')", " `` "),  # a quotation opens
        (r"[«»“”„‘’]|`+", r" \g<0> "),
        (r"(?<!\w)'(?=\w)(?!(?:re|ve|ll|m|t|s|d|n)\b)", "' "),  # an apostrophe that opens one
        (r"(?<=[^.])\.(?=[])}>\"'»”’ ]*$)", " . "),  # the last full stop
        (r"[:,](?=\D|$)", r" \g<0> "),
        (r"\.{2,}|--|[][(){}<>;@#$%&?!*‒–—―]", r" \g<0> "),
        (r"''|\"", " '' "),
        (r"(?<=[^' ])('[smd]?|'ll|'re|'ve|n't)(?=\s|$)", r" \g<0> "),
        ("|".join(rf"(?<=\b{left})(?={right}\b)" for left, right in map(str.split, DIVIDED)), " "),
    )
)


def split_words(text: str) -> list[str]:
    """Words and marks of `text`, which is in lower case.

    >>> split_words("a dog's ball, isn't it?")
    ['a', 'dog', "'s", 'ball', ',', 'is', "n't", 'it', '?']
    >>> split_words('a "stop" sign.')
    ['a', '``', 'stop', "''", 'sign', '.']
    """
    # Of what could end a sentence, initials and abbreviations match first and stay as they are.
    lines = SENTENCE_END.sub(lambda match: f"{match[0]}\n" if match["end"] else match[0], text.strip())
    words = []
    for sentence in lines.splitlines():
        words += reduce(lambda spaced, rule: rule[0].sub(rule[1], spaced), RULES, sentence).split()
    return words
