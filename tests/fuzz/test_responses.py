"""Whatever a response or a record holds where something else was expected: a run, or one of rankdev's errors."""

import copy
import json
import warnings
from contextlib import suppress

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rankdev as rd
from tests.data.responses import ENGINES, LINES, QUEPID_JSON, RANK_EVAL_REQUEST
from tests.data.test_records import LANGCHAIN, LLAMA, RAGAS, WITH_IDS
from tests.fuzz.files import SLOW

SEEDS = [{"q1": response, "q2": response} for response in ENGINES.values()]
SEEDS += [*ENGINES.values(), LINES, {"queries": ["a"], "responses": [ENGINES["elasticsearch"]]}]
SEEDS += [QUEPID_JSON, RANK_EVAL_REQUEST]
SEEDS += [[record] for record in (LANGCHAIN, LLAMA, RAGAS, WITH_IDS)]
ODD = [
    None,
    True,
    0,
    1,
    -1,
    2.5,
    10**30,
    "",
    "x",
    [],
    [[]],
    [None],
    ["x"],
    {},
    {"a": None},
    {"hits": 1},
    [{}],
    [{"a": 1}],
]


def replace_somewhere(draw, value):
    """Go down, a step at a time, and put something odd where it ends."""
    inside = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
    if not inside or draw(st.integers(0, 6)) == 0:
        return copy.deepcopy(draw(st.sampled_from(ODD)))
    place = draw(st.sampled_from(inside))
    value[place] = replace_somewhere(draw, value[place])
    return value


@st.composite
def odd_documents(draw):
    document = copy.deepcopy(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(1, 3))):
        document = replace_somewhere(draw, document)
    return document


@settings(max_examples=SLOW * 4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(document=odd_documents(), indent=st.sampled_from([None, 1]))
def test_odd_documents(tmp_path, document, indent):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(document, indent=indent))
    for read, value in (
        (rd.Run.of, document),
        (rd.References.of, document),
        (rd.read_run, path),
        (rd.read_references, path),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with suppress(rd.RankdevError):
                read(value)
