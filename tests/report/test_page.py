"""The page as a reader meets it, in a real browser: wide and narrow, light and dark, on paper."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image
from report_runs import EVIL, WORDS, comparison, make_run, rewrite
from several_systems import of_trials, of_world

from equiview.data.estimates import Estimates
from equiview.data.figures import Gallery
from equiview.data.run import Run
from equiview.report import page
from equiview.report.embed import Pictures, small, small_kept
from equiview.report.words import number
from equiview.studies.averages import averages, mean_of

if TYPE_CHECKING:
    from browser import Page

LIMIT = 3_000_000


@pytest.fixture(scope="module")
def one(runs: list[Run], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pages") / "one.html"
    path.write_bytes(page(runs[:1]))
    return path


@pytest.fixture(scope="module")
def three(runs: list[Run], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pages") / "three.html"
    path.write_bytes(page(runs, comparison(runs)))
    return path


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two systems, three audits: a divergence, a ratio, and one that could not be measured."""
    folder = tmp_path_factory.mktemp("mixed")
    audits = ("exposure", "preference", "broken")
    both = [make_run(folder / name, name, skew, audits=audits) for name, skew in (("a", 0.9), ("b", 0.05))]
    path = folder / "mixed.html"
    path.write_bytes(page(both, comparison(both)))
    return path


@pytest.fixture
def explorer(window: Page, three: Path) -> Iterator[Page]:
    window.open(three, unfold=False)
    window.run("""const explorer = document.querySelector('[data-explorer]');
        explorer.closest('details.part').open = true; explorer.scrollIntoView();""")
    window.until("return document.querySelector('[data-explorer]').dataset.ready === 'yes'")
    yield window
    assert window.problems() == []


def listed(window: Page) -> int:
    return int(window.run("return document.querySelectorAll('[data-part=list] button').length"))


def choose(window: Page, name: str, word: str) -> None:
    window.run(
        """const s = document.querySelector(`.explorer [data-choice="${arguments[0]}"]`);
        s.value = [...s.options].find((o) => o.textContent === arguments[1]).value;
        s.dispatchEvent(new Event("change"));""",
        name,
        word,
    )


def test_the_same_runs_give_the_same_bytes(runs: list[Run]) -> None:
    assert page(runs, comparison(runs)) == page(runs, comparison(runs))


def test_the_page_is_small_and_names_no_address_to_fetch(three: Path) -> None:
    text = three.read_text("utf-8")
    assert len(text.encode()) < LIMIT
    assert not re.findall(r"""(?:src|href)=["'](?!data:|#)[^"']*""", text)
    markup = re.sub(r"<script.*?</script>|<style.*?</style>", "", text, flags=re.S)
    assert not re.search(r"\son[a-z]+=", markup.replace("onerror=&#34;", ""))


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("which", ["one", "three", "mixed"])
def test_it_opens_whole_at_every_width_and_theme(
    window: Page, request: pytest.FixtureRequest, which: str, width: int, dark: bool
) -> None:
    window.open(request.getfixturevalue(which), width=width, dark=dark)
    assert window.problems() == []
    assert window.run("return document.documentElement.dataset.ready") == "yes"
    assert window.overflow() == []
    drawn = window.run(
        """return [...document.querySelectorAll(".plot")].map((plot) => [
             plot.closest("figure").id,
             plot.querySelectorAll(".trace path, .point path, .hm image, .heatmaplayer image").length]);"""
    )
    assert len(drawn) >= 8
    assert [name for name, marks in drawn if marks == 0] == []
    ground = window.run("return getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", ground))) < 200) is dark
    if (which, width, dark) in {("three", 1280, False), ("mixed", 390, True)}:
        assert window.barriers() == []


def test_the_opening_says_what_its_marks_are_and_strips_are_as_wide_as_the_page(
    window: Page, one: Path
) -> None:
    for width in (390, 1280):
        window.open(one, width=width, unfold=False)
        assert "each line has its own scale" in window.run(
            "return document.querySelector('#opening').innerText"
        )
        filled = window.run(
            """const strip = document.querySelector(".cells"), cells = [...strip.children];
               const first = cells.filter((cell) => cell.offsetTop === cells[0].offsetTop);
               return first.reduce((sum, cell) => sum + cell.offsetWidth + 1, 0) / strip.offsetWidth"""
        )
        assert 0.97 < filled < 1.03


def test_a_logarithmic_axis_of_few_decades_names_its_ticks_in_full(window: Page, one: Path) -> None:
    window.open(one)
    plot = "[...document.querySelectorAll('.plot')].find((e) => e._fullLayout.yaxis.type === 'log')"
    ticks = window.run(f"return [...{plot}.querySelectorAll('.ytick text')].map((e) => e.textContent)")
    numbers = [float(tick) for tick in ticks]
    assert numbers == sorted(set(numbers))
    assert len(numbers) > 1


def test_the_theme_button_turns_the_page_and_its_figures(window: Page, three: Path) -> None:
    window.open(three)
    ink = "return document.querySelector('.plot .xtick text').style.fill"
    before = window.run(ink)
    for expected in ("light", "dark"):
        window.run("document.getElementById('theme').click()")
        assert window.run("return document.documentElement.dataset.theme") == expected
    window.until(f"return (() => {{ {ink} }})() !== {before!r}")
    window.run("document.getElementById('theme').click()")
    assert window.run("return document.getElementById('theme').textContent") == "Theme: auto"
    assert window.problems() == []


def test_captions_read_in_their_own_direction_and_language(window: Page, one: Path) -> None:
    window.open(one)
    seen = window.run(
        """return [...document.querySelectorAll(".ranked .caption")].map((e) => [
             e.lang, getComputedStyle(e).direction, e.textContent.trim()]);"""
    )
    found = {language: (direction, text) for language, direction, text in seen}
    assert found["ar"] == ("rtl", WORDS["ar"])
    assert found["he"][0] == found["fa"][0] == "rtl"
    assert found["ja"] == ("ltr", WORDS["ja"])


def test_a_caption_that_looks_like_code_stays_a_caption(explorer: Page) -> None:
    explorer.run("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
    explorer.until("return document.querySelectorAll('details tbody tr').length > 50")
    choose(explorer, "language", "Cusco Quechua")
    explorer.until("return document.querySelector('[data-part=lists]').textContent.includes('<script>')"
                   " || document.querySelectorAll('.explorer .ranked li').length === 0")  # fmt: skip
    assert "owned" not in explorer.run("return document.title")
    assert explorer.run("return document.querySelectorAll('img[onerror], main script').length") == 0
    assert EVIL in explorer.run("return document.body.textContent")


def test_the_policy_refuses_scripts_that_are_not_ours(window: Page, one: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.html"
    text = one.read_text("utf-8").replace("<footer>", "<script>document.title='owned'</script><footer>", 1)
    bad.write_text(text, "utf-8")
    window.open(bad)
    assert window.run("return document.title") != "owned"
    assert any("Content Security Policy" in problem for problem in window.problems())


def test_tables_sort_and_filter(window: Page, one: Path) -> None:
    window.open(one)
    window.run("document.querySelector('[data-table^=estimates]').open = true")
    window.until("return document.querySelectorAll('[data-table^=estimates] tbody tr').length > 0")
    table = "document.querySelector('[data-table^=estimates]')"
    window.run(
        f"""const s = [...{table}.querySelectorAll("label")]
            .find((l) => l.textContent.startsWith("metric")).querySelector("select");
        s.value = [...s.options].find((o) => o.textContent === "R").value;
        s.dispatchEvent(new Event("change"));"""
    )
    body = f"[...{table}.querySelectorAll('tbody tr')]"
    heads = window.run(f"return [...{table}.querySelectorAll('th')].map((head) => head.textContent)")
    at = heads.index("language")
    rows = f"return {body}.map((row) => row.children[{at}].textContent)"
    assert len(window.run(rows)) == 36
    for order in ("ascending", "descending"):
        window.run(
            f"[...{table}.querySelectorAll('th button')].find((b) => b.textContent === 'value').click()"
        )
        head = f"return [...{table}.querySelectorAll('th')].find((h) => h.textContent === 'value')"
        assert window.run(f"{head}.getAttribute('aria-sort')") == order
    assert window.run(rows)[0] == "en"
    window.run(
        f"const i = {table}.querySelector('input'); i.value = 'quz'; i.dispatchEvent(new Event('input'))"
    )
    assert window.run(rows) == ["quz"]
    assert window.problems() == []


def test_a_long_word_to_filter_by_does_not_widen_the_page(window: Page, one: Path) -> None:
    window.open(one, width=390)
    window.run("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
    window.until("return document.querySelectorAll('.tools select').length > 0")
    window.run("document.querySelector('.tools select').options[0].textContent = 'caption '.repeat(12)")
    assert window.overflow() == []


def test_rows_of_nothing_and_columns_of_one_value_are_folded(window: Page, tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", "mine", 0.5)
    nothing = {"metric": "LBKL", "k": 5, "value": 0.0, "low": 0.0, "high": 0.0}
    rows = [
        nothing | {"k": 10, "value": 0.2, "high": 0.3},
        nothing,
        nothing | {"k": 25, "low": None, "high": None},
    ]
    given = Estimates.of_rows([row | {"audit": "exposure", "n": 1280, "grouping": "tier"} for row in rows])
    rewrite(run, "estimates.parquet", given.table)
    path = tmp_path / "page.html"
    path.write_bytes(page([run]))
    window.open(path)
    window.run("document.querySelector('[data-table=estimates-exposure]').open = true")
    window.until("return document.querySelector('[data-table=estimates-exposure] tbody tr')")
    place = "document.querySelector('[data-table=estimates-exposure]')"
    count = f"return {place}.querySelectorAll('tbody tr').length"
    assert window.run(count) == 1
    assert window.run(f"return {place}.querySelector('.note').textContent").startswith(
        "In every row: metric LBKL, grouping tier, n 1,280"
    )
    said = window.run(f"return {place}.querySelector('[aria-pressed]').textContent")
    assert said == "Show 2 rows of 0 or without an interval"
    window.run(f"{place}.querySelector('[aria-pressed]').click()")
    assert window.run(count) == 3


def test_p_values_and_rows_with_too_few_to_judge_by_are_shown(window: Page, mixed: Path) -> None:
    window.open(mixed, unfold=False)
    table = "document.querySelector('[data-table=estimates-preference]')"
    window.run(f"{table}.open = true")
    window.until(f"return {table}.querySelectorAll('tbody tr').length > 0")
    window.run(f"const i = {table}.querySelector('input'); i.value = 'USA M_cul';"
               "i.dispatchEvent(new Event('input'))")  # fmt: skip
    heads = window.run(f"return [...{table}.querySelectorAll('th')].map((head) => head.textContent)")
    assert heads[-3:] == ["p", "p (Holm)", "judged"]
    cells = "[...row.children].slice(-3).map((cell) => cell.textContent)"
    rows = window.run(f"return [...{table}.querySelectorAll('tbody tr')].map((row) => {cells})")
    assert rows == [["< 0.001", "0.031", "too few to judge"]] * 2
    assert window.problems() == []


def test_a_failed_audit_and_readings_are_shown(window: Page, mixed: Path) -> None:
    window.open(mixed, unfold=False)
    card = "document.querySelector('#audit-broken')"
    assert window.run(f"return {card}.querySelectorAll('.finding.failed').length") == 2
    assert EVIL in window.run(f"return {card}.textContent")
    assert window.run(f"return {card}.querySelectorAll('.fold').length") == 0
    titles = window.run(
        "return [...document.querySelectorAll('.reading h2')].map((head) => head.textContent)"
    )
    assert titles == ["Exposure and accuracy", "Pull and clusters"]
    assert window.run("return document.querySelectorAll('.reading')[0].querySelectorAll('li').length") == 2
    lede = window.run("return document.querySelector('.lede').textContent")
    assert lede.startswith("1,280 images, 46,080 texts and 1,100 trials: drawings")
    assert window.problems() == []


def test_hovering_over_a_mark_shows_its_picture_and_word(window: Page, one: Path) -> None:
    window.open(one)
    plot = "document.querySelector('#figure-exposure-map .plot')"
    window.run(f"{plot}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
    at = window.run(f"const r = {plot}.querySelector('.point').getBoundingClientRect();"
                    "return [r.x + r.width / 2, r.y + r.height / 2]")  # fmt: skip
    for step in (3, 1, 0):
        window.command("Input.dispatchMouseEvent", type="mouseMoved", x=at[0] + step, y=at[1] + step)
    window.until("return !document.getElementById('card').hidden")
    assert window.run("return document.querySelector('#card p').textContent").splitlines()[0] == WORDS["en"]
    assert window.run("return document.querySelector('#card img').naturalWidth") == 96


def test_the_explorer_finds_queries_and_shows_every_run(explorer: Page) -> None:
    assert listed(explorer) == 24
    explorer.run("document.querySelector('[data-part=on]').click()")
    explorer.until("return document.querySelectorAll('[data-part=list] button').length === 6")
    explorer.run("""const s = document.querySelector('[data-part=search]');
                    s.value = 'number 13'; s.dispatchEvent(new Event('input'));""")
    explorer.until("return document.querySelectorAll('[data-part=list] button').length === 1")
    explorer.run("document.querySelector('[data-part=list] button').click()")
    explorer.until("return document.querySelector('[data-part=asked]').textContent.includes('number 13')")
    assert explorer.run("return document.querySelectorAll('[data-part=lists] .panel').length") == 3
    explorer.run("""const s = document.querySelector('[data-part=search]');
                    s.value = 'no such thing'; s.dispatchEvent(new Event('input'));""")
    explorer.until("return document.querySelector('[data-part=count]').textContent === 'No query matches.'")


@pytest.mark.parametrize(
    ("choice", "word", "selector"),
    [
        ("language", "Swahili", ".chip:not([title^=Swahili])"),
        ("tier", "low", ".chip:not(.tier-low)"),
        ("correctness", "wrong", ".mark.right"),
    ],
)
def test_the_explorer_filters_results(explorer: Page, choice: str, word: str, selector: str) -> None:
    shown = "document.querySelectorAll('[data-part=lists] li').length"
    before = explorer.run(f"return {shown}")
    choose(explorer, choice, word)
    explorer.until(f"return {shown} !== {before}")
    assert explorer.run(f"return document.querySelectorAll('[data-part=lists] li {selector}').length") == 0
    choose(explorer, choice, "all")
    explorer.until(f"return {shown} === {before}")


def test_a_long_score_stays_on_one_line(explorer: Page) -> None:
    heights = explorer.run(
        """const score = document.querySelector("[data-explorer] .ranked .score");
           score.textContent = "0.5";
           const before = score.offsetHeight;
           score.textContent = "−1234.500";
           return [before, score.offsetHeight]"""
    )
    assert heights[0] == heights[1]


def test_it_prints_with_its_figures_and_opened_tables(window: Page, one: Path) -> None:
    window.open(one, dark=True, unfold=False)
    window.run("document.querySelectorAll('details.part').forEach((part) => { part.open = false; })")
    closed = window.pdf()
    window.open(one, dark=True)
    window.run("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
    window.until(
        """return [...document.querySelectorAll('details[data-table]')]
             .every((fold) => fold.querySelector('tbody tr'))"""
    )
    whole = window.pdf()
    pages = [len(re.findall(rb"/Type\s*/Page\b", pdf)) for pdf in (closed, whole)]
    assert pages[0] <= 2
    assert pages[1] > 3
    assert window.run("return document.documentElement.dataset.theme") == "auto"


def test_landmarks_names_and_focus(window: Page, one: Path) -> None:
    window.open(one)
    assert window.run("return document.querySelectorAll('main, header, footer, nav[aria-label]').length") == 4
    assert window.run("return document.querySelectorAll('.plot:not([aria-label])').length") == 0
    assert window.run("return document.querySelectorAll('img:not([alt])').length") == 0
    unnamed = """return [...document.querySelectorAll("button, input, select, summary")].filter((e) =>
        !e.textContent.trim() && !e.getAttribute("aria-label") && !e.closest("label")).length"""
    assert window.run(unnamed) == 0
    levels = window.run(
        "return [...document.querySelectorAll('h1,h2,h3,h4')].map((h) => Number(h.tagName[1]))"
    )
    assert levels[0] == 1
    assert levels.count(1) == 1
    window.command("Input.dispatchKeyEvent", type="keyDown", key="Tab", code="Tab", windowsVirtualKeyCode=9)
    assert window.run("return document.activeElement.className") == "skip"


def test_it_opens_on_two_screens_with_every_part_folded(window: Page, three: Path) -> None:
    window.open(three, unfold=False)
    assert window.run("return document.querySelector('details.part').getBoundingClientRect().top") < 1800
    assert window.run("return document.querySelectorAll('.strip').length") == 3
    rows = window.run("return [...document.querySelectorAll('.board tbody bdi')].map((e) => e.textContent)")
    assert rows == ["pictogram:skewed", "pictogram:english", "pictogram:aligned"]
    if window.run("return !document.getElementById('audit-exposure').open"):
        window.run("document.querySelector('.board td a').click()")
    window.until("return document.getElementById('audit-exposure').open")
    window.until("return document.querySelector('#audit-exposure .figure').dataset.drawn === 'yes'")
    window.run("document.getElementById('unfold').click()")
    window.until("return document.getElementById('unfold').textContent === 'Close all'")
    assert window.run("return document.querySelectorAll('details.part:not([open])').length") == 0
    assert window.problems() == []


LONG = "a system with a name so long that no column was made for it, revision 2026-11"


@pytest.fixture(scope="module")
def twelve(runs: list[Run], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs under four names each."""
    many = []
    for place, name in enumerate([LONG, *(f"system {place}" for place in range(11))]):
        run = runs[place % len(runs)]
        subject = run.manifest.subject.model_copy(update={"name": name})
        many.append(Run(run.folder, run.manifest.model_copy(update={"subject": subject})))
    path = tmp_path_factory.mktemp("twelve") / "twelve.html"
    path.write_bytes(page(many, comparison(many)))
    return path


def test_twelve_systems_open_on_two_screens_with_strips_of_one_width(window: Page, twelve: Path) -> None:
    window.open(twelve, unfold=False)
    assert window.run("return document.querySelector('details.part').getBoundingClientRect().top") < 1800
    widths = window.run(
        """return [...document.querySelectorAll('.cells')]
             .map((e) => Math.round(e.getBoundingClientRect().width))"""
    )
    assert (len(widths), len(set(widths))) == (12, 1)
    assert widths[0] > 700, "a long name takes nothing of the strip"
    dots = window.run("return [...document.querySelectorAll('.strip .dot')].map((e) => e.style.background)")
    assert len(set(dots)) == 12
    assert window.overflow() == []
    window.open(twelve, width=390, unfold=False)
    assert window.run("return document.querySelector('details.part').getBoundingClientRect().top") < 2700
    assert window.overflow() == []


def test_what_is_better_is_not_cut_off(window: Page, tmp_path: Path) -> None:
    both = [make_run(tmp_path / name, f"{name}: {LONG}", skew) for name, skew in (("a", 0.9), ("b", 0.05))]
    path = tmp_path / "page.html"
    path.write_bytes(page(both, comparison(both)))
    window.open(path)
    room = window.run(
        """return [...document.querySelectorAll('.scroll:has(.compare)')]
             .map((e) => e.scrollWidth - e.clientWidth)"""
    )
    assert room == [0]


def test_a_headline_of_three_systems_has_letters_and_its_pairs_on_demand(window: Page, three: Path) -> None:
    window.open(three)
    rows = window.run(
        """return [...document.querySelectorAll(".apart tbody tr")].map((row) =>
             [...row.querySelectorAll("sup")].map((letters) => letters.textContent));"""
    )
    assert ["b", "c", "a"] in rows, "DLBKL: all three differ, the even system is best"
    window.run("document.querySelector('[data-table^=pairs]').open = true")
    window.until("return document.querySelectorAll('[data-table^=pairs] tbody tr').length >= 3")


def test_examples_are_of_the_same_queries_for_every_system(tmp_path: Path) -> None:
    for runs in (of_world(tmp_path / "a", ("prevalence",)), of_trials(tmp_path / "b")):
        galleries = [
            figure
            for run in runs
            for figure in run.figures(run.manifest.audits[0])
            if isinstance(figure, Gallery)
        ]
        shown = [gallery.table["group"].unique(maintain_order=True).to_list() for gallery in galleries]
        assert len(shown) == len(runs)
        assert len(shown[0]) >= 3
        assert shown[1:] == shown[:-1]


def test_means_over_systems_stand_on_the_page(tmp_path: Path) -> None:
    runs = of_trials(tmp_path)
    text = page(runs).decode()
    assert "Means over systems" in text
    (mean,) = (mean_of(row) for row in averages(runs).head(1).iter_rows(named=True))
    assert f'<td class="num">{number(mean.value)}</td>' in text
    assert "Means over systems" not in page(runs[:1]).decode()


def test_pictures_of_a_page_are_small_and_what_is_no_picture_is_kept() -> None:
    noise = np.random.default_rng(0).integers(0, 255, (96, 96, 3), dtype=np.uint8)
    stream = io.BytesIO()
    Image.fromarray(noise).save(stream, "PNG")
    shrunk = small(stream.getvalue())
    assert len(shrunk) < len(stream.getvalue()) / 4
    with Image.open(io.BytesIO(shrunk)) as image:
        assert (image.format, max(image.size)) == ("WEBP", 72)
    assert small(b"no picture" * 100) == b"no picture" * 100
    pictures = Pictures()
    assert pictures.add(stream.getvalue()) == pictures.add(stream.getvalue()) == 0


def test_small_pictures_that_another_process_kept_are_not_made_again(tmp_path: Path) -> None:
    stream = io.BytesIO()
    Image.effect_noise((96, 96), 50).save(stream, "PNG")
    made = small(stream.getvalue())
    small.cache_clear()
    with small_kept(tmp_path / "kept"):
        assert small(stream.getvalue()) == made
        (kept,) = (tmp_path / "kept").iterdir()
        assert kept.read_bytes() == made
        kept.write_bytes(b"of another process")
        small.cache_clear()
        assert small(stream.getvalue()) == b"of another process"
    small.cache_clear()
    assert small(stream.getvalue()) == made
