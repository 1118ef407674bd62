from __future__ import annotations

import pytest

from equiview.text.treebank import split_words

# What `word_tokenize` of NLTK 3.10.4 makes of these, a space between two words, with the abbreviations of its
# English model and no other statistics of it.
BY_NLTK = {
    "": "",
    "a dog's ball, isn't it?": "a dog 's ball , is n't it ?",
    'a "stop" sign.': "a `` stop '' sign .",
    'a sign that says "stop".': "a sign that says `` stop '' .",
    '"hello" said the man': "`` hello '' said the man",
    'the boys\' "best" toys, 3,000 of them.': "the boys ' `` best '' toys , 3,000 of them .",
    'is it "red?"': "is it `` red ? ''",
    'the 5" pipe': "the 5 '' pipe",
    "two 8' boards": "two 8 ' boards",
    "'hello' sign": "' hello ' sign",
    "rock 'n' roll at 5 o'clock": "rock 'n ' roll at 5 o'clock",
    "a 50's l'eau d'ete": "a 50 's l'eau d'ete",
    "don't can't we'll they've i'm he'd": "do n't ca n't we 'll they 've i 'm he 'd",
    "cannot gonna gotta gimme lemme": "can not gon na got ta gim me lem me",
    "a t-shirt with 50% off!": "a t-shirt with 50 % off !",
    "a black/white cat w/ hat & glasses": "a black/white cat w/ hat & glasses",
    "it cost $3.88.": "it cost $ 3.88 .",
    "12:30, 1:2": "12:30 , 1:2",
    "at 5 p.m. in n.y. today": "at 5 p.m. in n.y. today",
    "mr. smith. a dog.": "mr. smith . a dog .",
    "two dogs.  one cat.": "two dogs . one cat .",
    "vitamin c. a dog": "vitamin c. a dog",
    "wait... what?": "wait ... what ?",
    "a man -- old -- walks": "a man -- old -- walks",
    "(a dog) runs": "( a dog ) runs",
    "a dog.)": "a dog . )",
    "email a@b.com #1": "email a @ b.com # 1",
    "\u201ca dog\u201d \u2013 caf\u00e9": "\u201c a dog \u201d \u2013 caf\u00e9",
    "\u0915\u0941\u0924\u094d\u0924\u093e \u72ac": "\u0915\u0941\u0924\u094d\u0924\u093e \u72ac",
}


@pytest.mark.parametrize("text", BY_NLTK)
def test_words_are_those_of_nltk(text: str) -> None:
    assert split_words(text) == BY_NLTK[text].split()
