"""Captions as words: tokens, masks, nouns, who is said to be shown, and CIDEr of them."""

import math

import numpy as np
import pytest

from equiview.audits.amplification.captions import (
    MASK,
    group_by_words,
    known_words,
    masked,
    read_words,
    tokens,
)
from equiview.audits.amplification.cider import cider
from equiview.errors import InputError

GENDER = known_words("gender", "en")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A man's hat.", "a man 's hat"),
        ("It isn't red, is it?", "it is n't red is it"),
        ("a black-and-white cow", "a black-and-white cow"),
        ('the "stop" sign (red)', "the stop sign red"),
        ("3,000 people at 12:30", "3,000 people at 12:30"),
        ("salt & pepper", "salt & pepper"),
        ("a café’s door", "a café 's door"),
    ],
)
def test_tokens_are_those_of_the_penn_treebank_without_punctuation(text, expected):
    assert tokens(text) == expected.split()


def test_gender_words_are_masked_whole_and_no_others():
    caption = "A woman and her mother manage the mandolin; he's an actor."
    assert " ".join(masked(caption, set().union(*GENDER.values()))) == (
        f"a {MASK} and {MASK} {MASK} manage the mandolin {MASK} 's an {MASK}"
    )


def test_words_of_languages_without_spaces_are_masked_longest_first():
    words = known_words("gender", "ja")
    assert masked("女の子が走る", set().union(*words.values()), "ja") == [MASK, "が", "走", "る"]


@pytest.mark.parametrize("language", ["de", "en", "es", "fr", "ja", "ru", "tr", "zh"])
def test_shipped_lists_tell_two_genders_apart(language):
    words = known_words("gender", language)
    assert words.keys() == {"female", "male"}
    assert not words["female"] & words["male"]


def test_an_own_list_counts_instead_of_ours(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text('attribute = "gender"\n[en]\nfemale = ["Ms"]\nmale = ["Mr"]\n')
    assert known_words("gender", "en", [str(path)]) == {"female": {"ms"}, "male": {"mr"}}
    assert known_words("gender", "de", [str(path)]) == known_words("gender", "de")
    assert known_words("skin", "en", [str(path)]) == {}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[en", "is not TOML"),
        ("a = " + "[" * 5000, "nested too deeply"),
        ('[en]\nfemale = ["a"]', "needs attribute"),
        ('attribute = "gender"', "needs attribute"),
        ('attribute = "gender"\nen = 3', "must be a table"),
        ('attribute = "gender"\n[en]\nfemale = "woman"', "must be a list of words"),
        ('attribute = "gender"\n[en]\nfemale = []', "must be a list of words"),
        (b"\xff", "UTF-8"),
    ],
)
def test_a_list_that_is_none_is_said_in_one_line(tmp_path, content, said):
    path = tmp_path / "words.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=said) as error:
        read_words(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("captions", "gender"),
    [
        (["A lady on a bike", "somebody rides"], "female"),
        (["A man and a dog"], "male"),
        (["A man", "a woman"], None),
        (["a person", "people"], None),
        ([], None),
    ],
)
def test_who_is_shown_is_what_captions_say_alone(captions, gender):
    assert group_by_words(captions, GENDER) == gender


def by_definition(reply, humans, corpus):
    """CIDEr-D of one caption, from its definition, n-gram by n-gram."""

    def grams(text, n):
        words = text.split()
        return [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]

    def weights(text, n):
        found = grams(text, n)
        said_of = {g: sum(any(g in grams(one, n) for one in texts) for texts in corpus) for g in found}
        return {g: found.count(g) * (math.log(len(corpus)) - math.log(max(1, said_of[g]))) for g in found}

    def norm(vector):
        return math.sqrt(sum(weight**2 for weight in vector.values()))

    total = 0.0
    for n in range(1, 5):
        for human in humans:
            a, b = weights(reply, n), weights(human, n)
            dot = sum(min(a[g], b.get(g, 0.0)) * b.get(g, 0.0) for g in a)
            if norm(a) and norm(b):
                dot /= norm(a) * norm(b)
            # The scorer takes the number of pairs of words for the length.
            total += dot * math.exp(-((len(grams(reply, 2)) - len(grams(human, 2))) ** 2) / 72)
    return 10 * total / 4 / len(humans)


def test_cider_is_that_of_its_definition():
    corpus = [
        ["a dog runs on the grass", "the dog is running"],
        ["a red kite in the sky", "someone flies a kite"],
        ["a dog and a cat on a couch", "two animals on a couch"],
    ]
    replies = ["a dog runs on grass", "a kite in the sky", "a bowl of soup"]
    expected = [by_definition(reply, humans, corpus) for reply, humans in zip(replies, corpus, strict=True)]
    np.testing.assert_allclose(cider(replies, corpus), expected, atol=1e-12)
    assert expected[2] < 0.2 < expected[0]


def test_a_caption_that_all_people_wrote_scores_ten():
    corpus = [["a dog runs on the grass"] * 2, ["a red kite in the sky"] * 2]
    assert cider(["A dog runs on the grass.", "no"], corpus).round(6).tolist() == [10.0, 0.0]


def test_document_frequencies_are_of_all_images():
    corpus = [["a b c d e"], ["a b x y z"], ["q r s t u"]]
    alone = cider(["a b c d e", "a b x y z"], corpus[:2])
    whole = cider(["a b c d e", "a b x y z", "q"], corpus)
    assert whole[0] == pytest.approx(alone[0]) == pytest.approx(10)
    partly = cider(["a b", "a b", "q"], corpus)
    assert partly[0] > cider(["a b", "a b"], corpus[:2])[0] == 0  # in two of two images "a b" weighs nothing


def test_one_image_cannot_be_weighed():
    with pytest.raises(InputError, match="two images"):
        cider(["a dog"], [["a dog"]])
