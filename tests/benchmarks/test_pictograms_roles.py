from equiview.benchmarks import load_benchmark


def test_each_drawing_is_asked_about_once_and_four_people_agree():
    roles = load_benchmark("pictograms-roles")
    assert roles.counts == {"images": 1152, "questions": 1152, "answers": 4608}
    questions = roles.tables["questions"]
    assert all(answer in options for answer, options in questions.select("answer", "options").iter_rows())
    assert questions["options"].list.n_unique().unique().to_list() == [64]
    assert questions["answer"].value_counts()["count"].unique().to_list() == [18]
    shown = roles.images.table.join(questions, left_on="id", right_on="image_id")
    women = shown.filter(role="firefighter", gender="woman")
    assert women["answer"].unique().to_list() == ["firefighter"]
    assert len(women) == 6
