"""The command as a process of its own: its streams may be closed, full, narrow or named."""

import json

import pytest

ASCII_STREAMS = {"PYTHONIOENCODING": "ascii"}
C_LOCALE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.parametrize(
    ("environment", "call"),
    [
        (ASCII_STREAMS, "eval places.jsonl blended.run nearest.run -q --name naïve --name other"),
        (ASCII_STREAMS, "explain places.jsonl blended.run --query bookshops"),
        pytest.param(ASCII_STREAMS, "compare places.jsonl blended.run nearest.run", marks=pytest.mark.slow),
        pytest.param(ASCII_STREAMS, "eval places.jsonl blended.run -m naïve", marks=pytest.mark.slow),
        pytest.param(C_LOCALE, "explain places.jsonl blended.run --query bookshops", marks=pytest.mark.slow),
        (C_LOCALE, "eval places.jsonl blended.run -m naïve"),
    ],
)
def test_a_narrow_alphabet_is_enough(shell, environment, call):
    done = shell(f"rankdev {call}", **environment)
    assert done.status == (2 if "-m na" in call else 0)
    assert "Traceback" not in done.err
    assert done.out.isascii()
    assert done.err.isascii()


def test_file_names_and_names_need_not_be_text(shell):
    done = shell("cp blended.run $'caf\\xe9.run'; rankdev eval places.jsonl $'caf\\xe9.run' --format csv")
    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines()[1].startswith("caf\\xe9,")
    done = shell("rankdev eval places.jsonl $'no-caf\\xe9.run'")
    assert (done.status, done.err) == (2, "rankdev: no-caf\\xe9.run: there is no such file\n")
    done = shell("rankdev eval places.jsonl blended.run -o $'caf\\xe9.csv'; cat $'caf\\xe9.csv'")
    assert "blended,,RDQ@10" in done.out


@pytest.mark.parametrize(
    "options",
    [
        "eval places.jsonl blended.run -m $'caf\\xe9'",
        pytest.param("explain places.jsonl blended.run --query $'caf\\xe9'", marks=pytest.mark.slow),
        pytest.param("compare places.jsonl blended.run nearest.run --baseline $'caf\\xe9'", marks=pytest.mark.slow),
        pytest.param("plan places.jsonl blended.run nearest.run -a $'caf\\xe9'", marks=pytest.mark.slow),
        pytest.param("sensitivity places.jsonl blended.run nearest.run --grid $'caf\\xe9=1'", marks=pytest.mark.slow),
    ],
)
def test_options_need_not_be_text(shell, options):
    done = shell(f"rankdev {options}")
    assert done.status in (1, 2), options
    assert done.err.startswith("rankdev: ")
    assert done.err.count("\n") == 1
    assert "should not happen" not in done.err


@pytest.mark.parametrize(
    "call",
    [
        "eval places.jsonl blended.run",
        "completion bash",
        *(
            pytest.param(x, marks=pytest.mark.slow)
            for x in ("measures --format json", "refs lists blended.run", "demo")
        ),
    ],
)
def test_a_closed_or_full_standard_output_is_a_line(shell, call):
    for place, reason in ((">&-", "Bad file descriptor"), ("> /dev/full", "No space left on device")):
        done = shell(f"rankdev {call} {place}")
        assert done.status in (1, 2)
        assert done.err.splitlines()[-1].startswith("rankdev: standard output: ")
        assert reason in done.err
        assert "Traceback" not in done.err


def test_closed_streams_do_not_matter_where_they_are_not_used(shell, folder):
    done = shell("rankdev eval places.jsonl blended.run -o scores.csv <&- >&-")
    assert (done.status, done.err) == (0, "")
    assert (folder / "scores.csv").read_text().startswith("system,query,measure,value\n")
    assert shell("rankdev eval places.jsonl blended.run 2>&-").status == 0
    assert shell("rankdev eval places.jsonl nothing.run 2>&-").status == 2


def test_a_closed_standard_input_is_a_line(shell):
    done = shell("rankdev eval places.jsonl - <&-")
    assert (done.status, done.err.endswith("is closed; give a file, or pipe something in\n")) == (2, True)


@pytest.mark.parametrize(
    "place",
    ["/dev/stdout", ">(cat)", *(pytest.param(x, marks=pytest.mark.slow) for x in ("/dev/fd/1", "/proc/self/fd/1"))],
)
def test_streams_by_name(shell, place):
    expected = shell("rankdev eval places.jsonl blended.run").out
    done = shell(f"rankdev eval places.jsonl blended.run --format table -o {place}; wait $!")
    assert (done.status, done.out, done.err) == (0, expected, "")


def test_standard_input_from_a_file_is_an_input(shell, folder):
    before = (folder / "blended.run").read_bytes()
    done = shell("rankdev refs lists - -o blended.run < blended.run")
    assert done.status == 2
    assert "blended.run: this file is being read" in done.err
    assert (folder / "blended.run").read_bytes() == before


def test_csv_on_standard_input_is_recognised(shell):
    scored = "rankdev eval places.jsonl blended.run nearest.run -q --format csv"
    assert "verdict" in shell(f"{scored} | rankdev compare --scores -").out


def test_standard_input_can_be_the_run(shell):
    done = shell("rankdev eval places.jsonl - --format json < blended.run")
    assert json.loads(done.out)[0]["system"] == "stdin"
