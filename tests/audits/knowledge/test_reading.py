import time
from difflib import SequenceMatcher

import pytest

from equiview.audits.knowledge.reading import RULES, read_answer, read_answers

TOWERS = ("Tokyo Tower", "Eiffel Tower", "CN Tower", "Big Ben")
THAI = ("วัดอรุณ", "วัดโพธิ์", "วัดพระแก้ว", "วัดสระเกศ")
ARABIC = ("برج القاهرة", "الأهرامات", "أبو الهول", "معبد الكرنك")
YEARS = ("1889", "1901", "1930", "1958")
REASONING = (
    "1. The picture shows a lattice tower, so this is Paris. 2. En français : quelle est cette tour ? "
    "3. Une tour de fer, achevée pour l'exposition de 1889. "
)


@pytest.mark.parametrize(
    ("reply", "options", "place", "rule"),
    [
        # a bare letter, in any width, case and space
        ("B", TOWERS, 1, "letter"),
        ("  D\n", TOWERS, 3, "letter"),
        ("c", TOWERS, 2, "letter"),
        ("Ａ", TOWERS, 0, "letter"),
        ("E", TOWERS, None, "unread"),
        ("E", (*TOWERS, "Berlin TV Tower"), 4, "letter"),
        # JSON
        ('{"answer": "B"}', TOWERS, 1, "json"),
        ('{\n  "answer": "B",\n}', TOWERS, 1, "json"),
        ('```json\n{"answer": "CN Tower"}\n```', TOWERS, 2, "json"),
        ("{'answer': '(D)'}", TOWERS, 3, "json"),
        ('{"answer": "C. CN Tower"}', TOWERS, 2, "json"),
        ('{"answer": B}', TOWERS, 1, "json"),
        ('{"Answer": "Ｃ"}', TOWERS, 2, "json"),
        ('{"answer": "\\u0648"}', TOWERS, None, "unread"),
        (REASONING + '{"answer": "B"}', TOWERS, 1, "json"),
        (REASONING + 'First {"answer": "A"}, no: {"answer": "B"}', TOWERS, 1, "json"),
        ('{"answer": "' + ARABIC[1] + '"}', ARABIC, 1, "json"),
        # the closest option
        ("Eiffel Tower", TOWERS, 1, "closest"),
        ("The Eiffel Tower.", TOWERS, 1, "closest"),
        ("A. Tokyo Tower", TOWERS, 0, "closest"),
        ("A bridge over water", ("A tunnel", "A road", "A ferry", "A bridge over water"), 3, "closest"),
        (THAI[2], THAI, 2, "closest"),
        (ARABIC[3] + ".", ARABIC, 3, "closest"),
        ("1901", YEARS, 1, "closest"),
        ("東京塔", ("巴黎铁塔", "东京塔", "東京塔", "大本钟"), 2, "closest"),
        # a letter that stands by itself as T's pattern has it
        ("(C) because of its height", TOWERS, 2, "pattern"),
        ("The answer is (D).", TOWERS, 3, "pattern"),
        ("Ｂ：高さから", TOWERS, 1, "pattern"),
        ("الإجابة هي B: لأنها أطول", ARABIC, 1, "pattern"),
        ("It is in the USA. I would say B: the tallest", TOWERS, 1, "pattern"),
        # a letter that stands by itself otherwise
        ("答案是C。", TOWERS, 2, "alone"),
        ("คำตอบคือB", THAI, 1, "alone"),
        ("Answer: D", TOWERS, 3, "alone"),
        ("A还是B，很难说", TOWERS, None, "unread"),
        # nothing that can be read
        ("", TOWERS, None, "unread"),
        ("   ", TOWERS, None, "unread"),
        ("I cannot help with that", TOWERS, None, "unread"),
        ("ไม่ทราบ", THAI, None, "unread"),
        ("NASA", TOWERS, None, "unread"),
        (REASONING, TOWERS, None, "unread"),
    ],
)
def test_a_reply_is_read_by_the_first_rule_that_fits(
    reply: str, options: tuple[str, ...], place: int | None, rule: str
) -> None:
    assert read_answer(reply, options) == (place, rule)


def test_an_option_word_for_word_is_chosen_before_one_that_is_alike() -> None:
    alike, long = "a bell tower at the sea", "tower by tower " * 20
    options = (alike + "s", alike, alike, long)
    for text in options:
        assert read_answer(text, options) == (options.index(text), "closest")
        # Of 200 characters and more `difflib` leaves out frequent ones as beginnings of what is alike.
        assert SequenceMatcher(None, text, text).ratio() == 1


def test_every_rule_is_one_of_those_that_are_counted() -> None:
    replies = ["A", '{"answer": "A"}', "Tokyo Tower", "(A) it is", "是A", "?"]
    assert read_answers(replies, [TOWERS] * len(replies)) == ([0, 0, 0, 0, 0, None], list(RULES))


def test_the_largest_release_is_read_in_seconds() -> None:
    replies = [f"{REASONING * 3} Nummer {n}: it is option ({'ABCD'[n % 4]}) then" for n in range(45_000)]
    started = time.process_time()
    places, rules = read_answers(replies, [TOWERS] * len(replies))
    assert time.process_time() - started < 10
    assert places[:5] == [0, 1, 2, 3, 0]
    assert set(rules) == {"pattern"}
