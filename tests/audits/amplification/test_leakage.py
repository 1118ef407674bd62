"""LIC: splits, what is masked and aligned, and what classifiers can and cannot see."""

import numpy as np
import torch
import transformers as hf
from hypothesis import given
from hypothesis import strategies as st

from equiview.audits.amplification import AMPLIFICATION
from equiview.audits.amplification.leakage import MATCHED, SOURCES, leakage, split
from equiview.io.progress import silent
from tests.subjects.encoders.vocabularies import bert_tokenizer


def guessed(replies, humans, groups, contents=(), **settings):
    options = AMPLIFICATION.configure({"splits": 4, "shuffles": 0, **settings})
    ids = [f"i{row}" for row in range(len(groups))]
    return leakage(ids, replies, humans, groups, contents or [""] * len(groups), options, "gender", silent)


def leaked(table, source):
    rows = table.filter(source=source, shuffled=False)
    right = (rows["guess"] == rows["group"]).to_numpy()
    return float(np.where(right, rows["confidence"].to_numpy(), 0).mean())


def worded(n=60):
    """Captions of the replies say who is shown, those of people do not."""
    groups = ["female", "male"] * (n // 2)
    replies = [["a", "pink" if group == "female" else "blue", "hat"] for group in groups]
    return replies, [[["a", "hat"], ["the", "hat"]]] * n, groups


@given(st.lists(st.integers(2, 30), min_size=2, max_size=4), st.floats(0.05, 0.9), st.integers(0, 99))
def test_splits_are_balanced_and_apart(sizes, share, seed):
    labels = np.repeat(np.arange(len(sizes)), sizes)
    train, test = split(labels, share, np.random.default_rng(seed))
    assert not set(train) & set(test)
    for rows in (train, test):
        counts = np.bincount(labels[rows], minlength=len(sizes))
        assert counts.min() == counts.max() >= 1
    assert len(train) + len(test) == len(sizes) * min(sizes)


def test_words_that_say_it_leak_and_others_do_not():
    table = guessed(*worded())
    assert leaked(table, "replies") > 0.6
    assert leaked(table, "humans") < 0.6
    assert table.group_by("seed", "source", maintain_order=True).len()["len"].unique().to_list() == [6]


def test_the_same_images_are_tested_of_both():
    table = guessed(*worded())
    by_source = [table.filter(source=source)["query_id"].to_list() for source in SOURCES]
    assert by_source[0] == by_source[1]


def test_shuffled_people_are_not_guessed():
    table = guessed(*worded(), shuffles=6)
    rows = table.filter(shuffled=True, source="replies")
    right = (rows["guess"] == rows["group"]).mean()
    assert 0.2 < right < 0.8
    assert set(rows["seed"]) == set(range(6))


def test_words_that_only_people_use_are_hidden_where_vocabularies_are_aligned():
    groups = ["female", "male"] * 30
    humans = [[["a", "gown" if group == "female" else "suit"]] for group in groups]
    replies = [["a", "hat"]] * 60
    assert leaked(guessed(replies, humans, groups, align_vocabulary=False), "humans") > 0.6
    assert leaked(guessed(replies, humans, groups), "humans") < 0.6


def test_captions_without_a_word_are_guessed_at_even_odds():
    table = guessed([[]] * 20, [[[]]] * 20, ["female", "male"] * 10)
    assert table["confidence"].unique().to_list() == [0.5]


def test_the_same_seed_gives_the_same_guesses():
    assert guessed(*worded()).equals(guessed(*worded()))
    assert not guessed(*worded(), seed=1).equals(guessed(*worded()))


def test_a_small_bert_learns_and_is_the_same_each_time(tmp_path):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    tokenizer = bert_tokenizer()
    config = hf.BertConfig(
        hidden_size=32, intermediate_size=48, num_hidden_layers=1, num_attention_heads=2,
        vocab_size=len(tokenizer), max_position_embeddings=64,
    )  # fmt: skip
    for part in (hf.BertForSequenceClassification(config), tokenizer):
        part.save_pretrained(tmp_path)
    settings = {"classifier": "bert", "bert": str(tmp_path), "epochs": 1, "splits": 2}
    table = guessed(*worded(20), **settings)
    assert table.equals(guessed(*worded(20), **settings))
    assert table["confidence"].is_between(0.5, 1).all()


def test_what_goes_with_content_alone_leaks_as_much_where_groups_are_permuted_within_it():
    rng = np.random.default_rng(0)
    things = np.repeat(["dog", "kite"], 100)
    groups = np.where(rng.random(200) < np.where(things == "dog", 0.8, 0.2), "female", "male").tolist()
    replies, humans = [["a", thing] for thing in things], [[["a", "hat"]]] * 200
    table = guessed(replies, humans, groups, contents=things.tolist(), splits=10)
    assert leaked(table, "replies") > leaked(table, "humans") + 0.1
    assert abs(leaked(table, "replies") - leaked(table, MATCHED)) < 0.05


def test_what_says_who_is_shown_beside_content_does_not_leak_where_groups_are_permuted():
    replies, humans, groups = worded()
    table = guessed(replies, humans, groups, contents=["dog", "dog", "kite", "kite"] * 15)
    assert leaked(table, "replies") > leaked(table, MATCHED) + 0.1
