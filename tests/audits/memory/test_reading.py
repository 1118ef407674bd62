"""What a reply is read as: languages, refusals, translations."""

import pytest

from equiview.audits.memory.reading import (
    category_of,
    refuses,
    translation_of,
)
from equiview.data.requests import Reply
from equiview.subjects.chat.spoken import Detector, same_language
from equiview.text.spaceless import words_in

DETECTOR = Detector()
TEXTS = {
    "en": "The tower is tall and grey, and stands on a hill above the river.",
    "de": "Der Turm ist hoch und grau und steht auf einem Hügel über dem Fluss.",
    "fr": "La tour est haute et grise, et se dresse sur une colline au-dessus du fleuve.",
    "it": "La torre è alta e grigia e si trova su una collina sopra il fiume.",
    "es": "La torre es alta y gris, y está en una colina sobre el río.",
    "pt": "A torre é alta e cinzenta e fica numa colina acima do rio.",
    "zh": "这座塔又高又灰，矗立在河边的小山上。",
    "ja": "その塔は高くて灰色で、川の上の丘に立っています。",
    "ar": "البرج طويل ورمادي ويقف على تلة فوق النهر.",
    "ko": "그 탑은 높고 회색이며 강 위의 언덕에 서 있습니다.",
    "he": "המגדל גבוה ואפור ועומד על גבעה מעל הנהר.",
    "el": "Ο πύργος είναι ψηλός και γκρίζος και στέκεται σε έναν λόφο πάνω από το ποτάμι.",
    "ru": "Башня высокая и серая и стоит на холме над рекой.",
    "sr": "Торањ је висок и сив и стоји на брду изнад реке.",
    "th": "หอคอยสูงและเป็นสีเทา ตั้งอยู่บนเนินเขาเหนือแม่น้ำ",
}


@pytest.mark.parametrize("language", TEXTS)
def test_languages_are_told_apart(language):
    assert DETECTOR.knows(language)
    assert same_language(DETECTOR.detect(TEXTS[language]), language)


def test_languages_that_are_not_known_are_said_to_be():
    assert not DETECTOR.knows("quz")
    assert not DETECTOR.knows("te-latn")
    assert DETECTOR.knows("no")
    assert DETECTOR.knows("fil")
    assert DETECTOR.detect("123 ...") is None


@pytest.mark.parametrize(
    ("reply", "language", "detected", "known", "category"),
    [
        (Reply(""), "en", None, True, "empty"),
        (Reply(" \n"), "en", None, True, "empty"),
        (Reply("Error"), "en", "en", True, "empty"),
        (Reply("A tower", "refused"), "en", "en", True, "refused"),
        (Reply("I cannot help with that."), "de", "en", True, "refused"),
        (Reply("Ich habe keine Informationen dazu."), "de", "de", True, "refused"),
        (Reply("抱歉，我无法描述这个地方。"), "zh", "zh", True, "refused"),
        (Reply(TEXTS["en"]), "de", "en", True, "wrong language"),
        (Reply("12345"), "de", None, True, "wrong language"),
        (Reply(TEXTS["en"], "length"), "de", "en", True, "wrong language"),
        (Reply(TEXTS["de"], "length"), "de", "de", True, "cut off"),
        (Reply(TEXTS["de"]), "de", "de", True, "described"),
        (Reply(TEXTS["es"]), "quz", "es", False, "described"),
    ],
)
def test_a_reply_has_one_category(reply, language, detected, known, category):
    assert category_of(reply, language, detected, known) == category


def test_refusals_are_read_carefully():
    assert refuses("I’m sorry, but I can’t describe it.", "en")
    assert not refuses("The tower is so high that I cannot describe it in a word. " * 10, "en")
    assert not refuses("Ich kann keine Auskunft geben.", "fr")  # German phrases are for German prompts


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", 0),
        ("one two-three", 3),
        ("这座塔", 3),
        ("ガラスの塔", 5),
        ("หอคอย", 5),
        ("برج طويل", 2),
        ("Turm, 3 m", 3),
    ],
)
def test_words_are_counted_and_characters_where_there_are_no_spaces(text, words):
    assert words_in(text) == words


@pytest.mark.parametrize(
    ("reply", "text", "problem"),
    [
        (Reply('{"translation": "A tower."}'), "A tower.", None),
        (Reply('```json\n{"translation": "A tower."}\n```'), "A tower.", None),
        (Reply('{"Translation": "A\ntower."} I hope this helps {:'), "A\ntower.", None),
        (Reply('{"note": {"translation": "no"}} {"translation": "yes"}'), "yes", None),
        (Reply('{"a": 1} and [{"translation": "A tower."}]'), "A tower.", None),
        (Reply('{"translation": " "}'), None, "empty"),
        (Reply(""), None, "empty"),
        (Reply('{"translation": "A tow', "length"), None, "cut off"),
        (Reply('{"translation": 5}'), None, "no JSON object with a translation"),
        (Reply("A tower."), None, "no JSON object with a translation"),
        (Reply("{" * 5000), None, "no JSON object with a translation"),
        (Reply('{"translation": "A tower."}', "refused"), None, "refused"),
    ],
)
def test_translations_are_read(reply, text, problem):
    assert translation_of(reply) == (text, problem)
