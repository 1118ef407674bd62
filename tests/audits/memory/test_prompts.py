"""What is asked: ours in fifteen languages, and the user's own."""

import unicodedata

import pytest

from equiview.audits.memory.prompts import load_prompts, shipped
from equiview.data.languages import languages
from equiview.errors import InputError

T_LANGUAGES = ("ar", "zh", "en", "fr", "de", "it", "ja", "pt", "es")


@pytest.fixture
def folder(tmp_path):
    for language, text in (("en", "Describe {{ landmark_name }}."), ("de", "Beschreibe {landmark_name}.\n")):
        for number in range(2):
            path = tmp_path / language / f"{number}.j2"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
    return tmp_path


def test_ours_are_in_all_languages_of_the_paper_and_two_in_each():
    prompts = shipped()
    assert set(T_LANGUAGES) <= set(prompts.by_language)
    assert {len(texts) for texts in prompts.by_language.values()} == {2}
    assert len({text for texts in prompts.by_language.values() for text in texts}) == 30


@pytest.mark.parametrize("language", shipped().by_language)
def test_ours_are_in_the_script_of_their_language(language):
    names = {
        **{"Latn": "LATIN", "Cyrl": "CYRILLIC", "Hans": "CJK", "Jpan": ("CJK", "HIRAGANA", "KATAKANA")},
        **{"Kore": "HANGUL", "Arab": "ARABIC", "Grek": "GREEK", "Hebr": "HEBREW", "Thai": "THAI"},
    }
    script = dict(languages().select("code", "script").iter_rows()).get(language, "Cyrl")
    for prompt in range(2):
        letters = [letter for letter in shipped().asked(language, prompt, "") if letter.isalpha()]
        assert all(unicodedata.name(letter).startswith(names[script]) for letter in letters)


def test_a_name_is_put_in_as_it_is():
    assert "the {landmark_name} \\1 Tower" in shipped().asked("en", 0, "the {landmark_name} \\1 Tower")


def test_a_folder_in_the_released_layout_is_read(folder):
    prompts = load_prompts(str(folder))
    assert prompts.asked("en", 0, "X") == "Describe X."
    assert prompts.asked("de", 1, "X") == "Beschreibe X."
    with pytest.raises(InputError, match=r"has no prompts in French \(fr\), only in de, en"):
        prompts.asked("fr", 0, "X")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("en/1.j2", "Describe it.", r"en, prompt 1: lacks \{landmark_name\}"),
        ("en/1.j2", "{{ landmark_name }} in {{ city }}", r"en, prompt 1: placeholder \{\{ city \}\} is not"),
        ("en/1.j2", "{% if x %}{{ landmark_name }}{% endif %}", r"placeholder \{% if x %\} is not known"),
        ("en/2.j2", "{landmark_name}", "en has 3 prompts, but de has 2"),
        ("en/5.j2", "{landmark_name}", "expected files 0.j2, 1.j2 and so on; found: 0, 1, 5"),
    ],
)
def test_a_wrong_folder_says_where(folder, name, content, message):
    (folder / name).write_text(content)
    with pytest.raises(InputError, match=message):
        load_prompts(str(folder))


def test_a_folder_without_languages_says_what_it_should_hold(tmp_path):
    with pytest.raises(InputError, match="holds no folder named after a language"):
        load_prompts(str(tmp_path))


ENTRY = '[[prompts]]\nlanguage = "en"\ntext = ["{landmark_name}?"]\n'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("not toml", "is not TOML"),
        (b"\xff", "is not UTF-8 text"),
        ("x = 1", "prompts: field required"),
        (ENTRY + ENTRY, "language 'en' has two entries"),
        (ENTRY.replace("en", "qq"), "'qq' is no language that is known"),
        (ENTRY.replace('["{landmark_name}?"]', "[]"), "prompts.0.text: list should have at least 1 item"),
        (ENTRY.replace("{landmark_name}", "it"), "prompt 0: lacks"),
    ],
)
def test_a_wrong_file_says_where(tmp_path, content, message):
    path = tmp_path / "mine.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=message):
        load_prompts(str(path))


def test_a_file_is_read(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(ENTRY)
    assert load_prompts(str(path)).asked("en", 0, "X") == "X?"
    with pytest.raises(InputError, match="no such file"):
        load_prompts(str(tmp_path / "absent.toml"))
