OPTIONS = ["--columns", "item_a=l,item_b=r", "--columns", "winner=said", "--values", "0=first,1=tie,2=second"]


def test_columns_and_values_on_the_command_line(rankdev, folder):
    (folder / "p.csv").write_text("topic,l,r,said,mood\n" + "q,x,y,0,fine\n" * 9 + "q,y,z,2,\n" * 9)
    done = rankdev("refs", "preferences", "p.csv", *OPTIONS)
    assert done.status == 0, done.err
    assert "rankdev: note: Columns not used: mood." in done.err
    assert done.out == '{"query": "q", "tiers": [["x", "z"], ["y"]]}\n'


def test_wrong_columns_and_values(rankdev, folder):
    (folder / "p.csv").write_text("topic,l,r,said\nq,x,y,0\n")
    for columns in ("item_a", "=l", "item_a=l,,winner=said"):
        done = rankdev("refs", "preferences", "p.csv", "--columns", columns)
        assert (done.status, "--columns" in done.err) == (2, True)
    twice = rankdev("refs", "preferences", "p.csv", "--columns", "winner=l", "--columns", "item_a=l,winner=said")
    assert (twice.status, "winner" in twice.err) == (2, True)
    wrong = rankdev("refs", "preferences", "p.csv", *OPTIONS[:4], "--values", "0=first,1=frist")
    assert (wrong.status, "frist" in wrong.err) == (2, True)


def test_advice_names_an_option_once(rankdev, folder):
    (folder / "zeros.csv").write_text("query,a,b,winner\n1,x,y,0\n1,y,z,1\n")
    for name, option in (("places.jsonl", "--columns"), ("zeros.csv", "--values")):
        done = rankdev("refs", "preferences", name)
        assert (done.status, done.err.count(option)) == (1, 1)


def test_agreement_on_the_command_line(rankdev, folder):
    rows = [f"q,x,y,{said},{worker}" for worker in ("ann", "bob") for said in ("a", "a", "b", "tie")]
    (folder / "p.csv").write_text("query,a,b,winner,worker\n" + "\n".join(rows) + "\n")
    done = rankdev("refs", "agreement", "p.csv", "--workers", "w.csv", "--format", "csv")
    assert done.status == 0, done.err
    assert done.out.startswith("fact,value,low,high,chance,p,n\nKrippendorff's α,")
    assert (folder / "w.csv").read_text().startswith("worker,judgments,ties,agreement,repeats_alike,first_if_equal")
    (folder / "nobody.csv").write_text("query,winner,loser\nq,x,y\n")
    assert rankdev("refs", "agreement", "nobody.csv", "--workers", "w2.csv").status == 2


def test_a_pool_takes_runs_of_one_name_from_several_folders(rankdev, folder):
    for name in ("one", "two"):
        (folder / name).mkdir()
    (folder / "one/bm25.run").write_text("q Q0 a 1 2 t\n")
    (folder / "two/bm25.run").write_text("q Q0 b 1 2 t\n")
    call = ("pool", "one/bm25.run", "two/bm25.run")
    assert rankdev(*call, "-o", "both.jsonl").err == "both.jsonl: 2 items of 1 query.\n"
    assert rankdev(*call, "-o", "-").out == (folder / "both.jsonl").read_text()
