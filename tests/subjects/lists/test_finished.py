"""Finished runs: what is read, what is refused by file and row, and that lists say what their model says."""

import gzip
import logging

import polars as pl
import pytest

from equiview import api
from equiview.audits.prevalence import PREVALENCE, SCHEMAS, PrevalenceSettings, observe
from equiview.benchmarks import load_benchmark
from equiview.errors import InputError
from equiview.io.progress import silent
from equiview.subjects import load_subject
from equiview.subjects.lists.finished import FinishedRun, read_lists
from tests.audits import steps
from tests.conftest import write_world

DEPTH = 20


@pytest.fixture
def audited(tmp_path):
    """A world, what a model observed on it, and its lists as a system would hand them over."""
    world = write_world(tmp_path / "world")
    settings = PrevalenceSettings(depth=DEPTH)
    seen = observe(load_subject(f"embeddings:{world}"), load_benchmark(f"folder:{world}"), settings, silent)
    lists = seen["rankings"].drop("relevant")
    lists.write_csv(world / "run.csv")
    lists.write_parquet(world / "run.parquet")
    rows = lists.iter_rows(named=True)
    trec = "".join(f"{r['query_id']} Q0 {r['item_id']} {r['rank']} {r['score']} tag\n" for r in rows)
    (world / "run.trec").write_text(trec)
    (world / "zero.trec.gz").write_bytes(gzip.compress(b"".join(
        " ".join((*parts[:3], str(int(parts[3]) - 1), *parts[4:])).encode() + b"\n"
        for parts in map(str.split, trec.splitlines())
    )))  # fmt: skip
    return world, seen


@pytest.mark.parametrize("name", ["run.csv", "run.parquet", "run.trec", "zero.trec.gz"])
def test_lists_say_what_the_model_that_made_them_says(audited, name):
    world, seen = audited
    settings = PrevalenceSettings(depth=DEPTH, replicates=100)
    found = observe(FinishedRun(str(world / name)), load_benchmark(f"folder:{world}"), settings, silent)
    for table, schema in SCHEMAS.items():
        schema.check(found[table], table)
    assert found["rankings"].drop("score").equals(seen["rankings"].drop("score"))
    assert found["queries"].equals(seen["queries"])
    key = ["query_id", "item_id"]
    assert found["targets"].sort(key).select(key).equals(seen["targets"].sort(key).select(key))
    mine, model = (steps.measured(PREVALENCE, tables, settings).table for tables in (found, seen))
    same = [name for name in model.columns if name not in {"language", "tier"}]
    assert "R" not in mine["metric"]
    rest = model.filter(pl.col("metric") != "R")
    assert mine.select(same).equals(rest.select(same))


def test_a_run_is_audited_into_a_whole_report(audited, tmp_path):
    world, _ = audited
    run = api.audit(f"run:{world / 'run.csv'}", f"folder:{world}", ["prevalence"], tmp_path / "out",
                    settings={"prevalence": {"replicates": 100}})  # fmt: skip
    assert (tmp_path / "out" / "report.html").stat().st_size > 10_000
    assert run.verdicts[0].finding


def test_lists_alone_with_a_table_of_items_and_judgements_are_enough(audited, tmp_path):
    world, _ = audited
    place = tmp_path / "alone"
    place.mkdir()
    (place / "lists.trec").write_bytes((world / "run.trec").read_bytes())
    texts = pl.read_csv(world / "texts.csv")
    texts.select("language", item_id="id").write_csv(place / "items.csv")
    qrels = "".join(f"{row['image_id']} 0 {row['id']} 1\n" for row in texts.iter_rows(named=True))
    (place / "qrels.txt").write_text(qrels + "i0 0 i1-en 0\n")
    read = load_benchmark(f"run:{place / 'lists.trec'}")
    assert (len(read.images), len(read.texts), read.relevance.counts[0]) == (40, 160, 4)
    found = observe(FinishedRun(str(place / "lists.trec")), read, PrevalenceSettings(), silent)
    assert found["rankings"]["relevant"].sum() > 0
    assert found["items"]["text"][0] == "i0-en"
    (place / "qrels.txt").unlink()
    with pytest.raises(
        InputError, match=r"nothing says what is relevant: holds no qrels\.txt nor lists\.qrels"
    ):
        load_benchmark(f"run:{place / 'lists.trec'}")
    texts.select("language", "image_id", item_id="id").write_csv(place / "items.csv")
    assert load_benchmark(f"run:{place / 'lists.trec'}").relevance.counts.tolist() == [4] * 40


def test_the_lists_released_with_p_name_captions(tmp_path):
    path = tmp_path / "rq1.csv"
    path.write_text(
        "query_id,result_rank,result_id,lang,caption_idx,score\n00aa,1,00aa,fr,2,0.3312\n00aa,2,00bb,en,1,0.3310\n"
    )
    assert read_lists(path)["item_id"].to_list() == ["00aa-fr-2", "00bb-en-1"]


def test_without_scores_the_rank_is_the_score(tmp_path):
    path = tmp_path / "run.csv"
    path.write_text("query_id,rank,item_id\nq,2,b\nq,1,a\n")
    assert read_lists(path)["score"].to_list() == [-2, -1]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "r.csv",
            "query_id,rank,item_id,score\nq,1,a,1\nq,1,b,1\n",
            "rows 1 and 2: query 'q' has rank 1 twice",
        ),
        (
            "r.csv",
            "query_id,rank,item_id,score\nq,1,a,1\nq,2,b,1\nq,3,a,1\n",
            "rows 1 and 3: .* item_id 'a' twice",
        ),
        (
            "r.csv",
            "query_id,rank,item_id,score\nq,1,a,1\np,1,a,1\nq,3,b,1\n",
            "row 3: query 'q' has rank 3, but not",
        ),
        ("r.csv", "query_id,rank,item_id,score\nq,2,a,1\n", "row 1: query 'q' has rank 2, but not"),
        (
            "r.csv",
            "query_id,rank,item_id,score\nq,1,a,1\nq,2,b,\n",
            "'score', row 2: empty; .* leave the whole column out",
        ),
        (
            "r.csv",
            "query_id,rank,item_id,score\nq,1,a,high\n",
            "column 'score', row 1: 'high', expected numbers",
        ),
        ("r.csv", "query_id,rank,item_id,score\nq,1,a,inf\n", "row 1: score inf is not a number"),
        (
            "r.csv",
            "query_id,rank,item_id,score\nq,first,a,1\n",
            "row 1: 'first', expected whole",
        ),
        ("r.csv", "query_id,rank,score\nq,1,1\n", "column 'item_id' .* is missing"),
        ("r.csv", "query_id,rank,item_id,score\n", "holds no result"),
        ("r.trec", "q Q0 a 1 0.5 t\nq Q0 b 2 0.4\n", "line 2: has 5 columns; a TREC run has 6"),
        ("r.trec", "q Q0 a 1 nan t\n", "row 1"),
    ],
)
def test_what_is_wrong_is_named_with_file_and_row(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(InputError, match=message) as caught:
        read_lists(path)
    assert name in str(caught.value)


def changed(world, **columns):
    path = world / "changed.csv"
    pl.read_csv(world / "run.csv").with_columns(**columns).write_csv(path)
    return path


def test_strangers_unequal_depth_and_missing_lists_are_named(audited):
    world, _ = audited
    items = load_benchmark(f"folder:{world}")
    eighth = pl.int_range(pl.len()) == 7
    for column, where, row in (("query_id", pl.col("query_id") == "i1", 21), ("item_id", eighth, 8)):
        stranger = pl.when(where).then(pl.lit("who")).otherwise(pl.col(column))
        with pytest.raises(InputError, match=f"row {row}: {column} 'who' is not in .* .1 such ids"):
            FinishedRun(str(changed(world, **{column: stranger}))).lists(items)
    lists = pl.read_csv(world / "run.csv")
    lists.filter((pl.col("query_id") != "i3") | (pl.col("rank") < 12)).write_csv(world / "short.csv")
    short = FinishedRun(str(world / "short.csv"))
    with pytest.raises(
        InputError,
        match=r"'i3' has 11 ranks, others have 20; .* 1 of 40 are shorter: .* partial=yes.* depth=11$",
    ):
        short.lists(items)
    assert len(FinishedRun(f"{world / 'short.csv'},depth=11").lists(items)) == 40 * 11
    assert len(short.lists(items, k=10)) == 400
    lists.filter(pl.col("query_id") != "i3").write_csv(world / "fewer.csv")
    with pytest.raises(InputError, match=r"no list for 'i3' \(1 of 40 queries have none\)"):
        FinishedRun(str(world / "fewer.csv")).lists(items)
    partial = FinishedRun(f"{world / 'fewer.csv'},partial=yes")
    found = observe(partial, items, PrevalenceSettings(), silent)
    assert len(found["queries"]) == 39
    assert found["targets"]["query_id"].n_unique() == 40  # captions of an image belong together, asked or not


def test_audits_of_vectors_refuse_a_run_before_they_begin(audited, tmp_path):
    world, _ = audited
    said = r"'individual' takes an encoder, but 'run:.*run\.csv' is result lists"
    with pytest.raises(InputError, match=said):
        api.audit(f"run:{world / 'run.csv'}", f"folder:{world}", ["individual"], tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("", "needs a file"),
        ("gone.csv", "gone.csv: no such file"),
        ("gone.csv,depth=0", "depth is '0'"),
        ("gone.csv,top=3", "no option 'top'"),
    ],
)
def test_usage_errors_are_said_plainly(argument, message):
    with pytest.raises(InputError, match=message):
        FinishedRun(argument)


def test_fingerprints_tell_runs_apart(audited):
    world, _ = audited
    names = [f"{world / 'run.csv'}", f"{world / 'run.csv'},depth=5", f"{world / 'run.csv'},partial=yes"]
    assert len({FinishedRun(name).fingerprint for name in names}) == 3
    assert FinishedRun(names[0]).fingerprint == FinishedRun(f"{names[0]},depth=20").fingerprint


def test_ids_that_do_not_fit_are_set_beside_those_that_are_known(tmp_path):
    (tmp_path / "items.csv").write_text("item_id,language,query_id\n7,en,1\n8,sw,1\n")
    (tmp_path / "run.csv").write_text("query_id,rank,item_id\n1.0,1,7\n1.0,2,8\n")
    read = load_benchmark(f"run:{tmp_path / 'run.csv'}")
    with pytest.raises(InputError, match=r"'1\.0' is not in .*items\.csv .*; there it is '1', so write ids"):
        FinishedRun(str(tmp_path / "run.csv")).lists(read)
    (tmp_path / "run.csv").write_text("query_id,rank,item_id\n1,1,07\n")
    with pytest.raises(InputError, match=r"item_id '07' is not in .*; ids there are such as '7'$"):
        FinishedRun(str(tmp_path / "run.csv")).lists(read)


def test_items_without_a_language_are_said_by_the_names_of_their_file(tmp_path):
    (tmp_path / "items.csv").write_text("item_id,path\n7,7.jpg\n")
    with pytest.raises(InputError, match=r"'language' \(.* caption.*\) is missing; found: item_id, path"):
        load_benchmark(f"run:{tmp_path / 'run.csv'}")


def test_a_file_with_brackets_in_its_name_has_its_own_judgements(tmp_path):
    (tmp_path / "items.csv").write_text("item_id,language\na,en\nb,sw\n")
    (tmp_path / "x.qrels").write_text("q 0 b 1\n")
    (tmp_path / "[x].qrels").write_text("q 0 a 1\n")
    read = load_benchmark(f"run:{tmp_path / '[x].trec'}")
    assert read.need_relevance().items.tolist() == [0]


@pytest.mark.parametrize("judgement", ["q 0 a --1", "q 0 a ١", "q 0 a 1.0", "q 0 a " + "9" * 5000])
def test_a_judgement_that_is_no_number_is_named_with_its_line(tmp_path, judgement):
    (tmp_path / "items.csv").write_text("item_id,language\na,en\n")
    (tmp_path / "qrels.txt").write_text(f"q 0 a 1\n{judgement}\n")
    with pytest.raises(InputError, match=r"qrels\.txt, line 2: expected `query 0 item relevance`"):
        load_benchmark(f"run:{tmp_path / 'x.trec'}")


def test_released_lists_without_a_column_name_it(tmp_path):
    (tmp_path / "x.csv").write_text("query_id,result_id\nq,a\n")
    with pytest.raises(InputError, match=r"x\.csv: column 'result_rank' .* is missing"):
        read_lists(tmp_path / "x.csv")


@pytest.mark.parametrize(("scores", "warned"), [((0.9, 0.5, 0.5), False), ((0.9, 0.5, 0.7), True)])
def test_scores_that_rise_with_rank_are_said_and_ranks_kept(tmp_path, caplog, scores, warned):
    rows = [("q", rank, f"i{rank}", score) for rank, score in enumerate(scores, start=1)]
    rows += [("r", 1, "i1", 1.0)]
    path = tmp_path / "run.csv"
    pl.DataFrame(rows, schema=["query_id", "rank", "item_id", "score"], orient="row").write_csv(path)
    with caplog.at_level(logging.WARNING):
        lists = read_lists(path)
    assert lists["item_id"].to_list() == ["i1", "i2", "i3", "i1"]
    said = "scores rise with rank in 1 of 2 lists (row 3"
    assert [said in message for message in caplog.messages] == [True] * warned
