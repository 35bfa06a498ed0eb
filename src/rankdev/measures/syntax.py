"""Measures as text; names of trec_eval and ir_measures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from rankdev._common.checks import is_list
from rankdev.errors import MeasureError, nearest
from rankdev.measures.base import COUNT, PARSED, REGISTRY, Measure, MeasureInfo, bad_parameter, load_installed

_ALSO = {  # names in ir_measures, trec_eval, ranx, LensKit, RecBole, MTEB and sentence-transformers
    "AP": "MAP map",
    "nDCG": "NDCG ndcg",
    "nDCG(dcg=exp-log2)": "ndcg_burges",
    "DCG": "dcg",
    "DCG(dcg=exp-log2)": "dcg_burges",
    "RR": "MRR mrr recip_rank RecipRank",
    "R": "Recall recall",
    "R_cap": "R_CAP recall_cap",
    "P": "Precision precision",
    "F1": "f1",
    "Rprec": "RPrec r_precision",
    "Success": "success HR hr Hit hit HitRate hit_rate HitRatio hit_ratio accuracy",
    "Bpref": "BPref bpref",
    "GMAP": "gm_map",
    "IPrec11": "11pt_avg",
    "RBP(p=0.9,gains=relative)": "rbp",
    "SetP": "set_P",
    "SetP(relative=True)": "SetRelP set_relative_P",
    "SetR": "set_recall",
    "SetF": "set_F",
    "SetAP": "set_map",
    "NumQ": "num_q",
    "NumRet": "num_ret",
    "NumRet(rel=1)": "NumRelRet num_rel_ret",
    "NumRel": "num_rel",
}
ALIASES = {alias: name for name, aliases in _ALSO.items() for alias in aliases.split()}
CUT = {
    "ndcg_cut": "nDCG",
    "map_cut": "AP",
    "P": "P",
    "recall": "R",
    "success": "Success",
    "iprec_at_recall": "IPrec",
    "unj": "Unjudged",
}
SHORT = 3
_COUNTS = ("num_q", "num_ret", "num_rel", "num_rel_ret")
_CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
SETS = {  # of measures, under trec_eval's names
    "official": (
        *_COUNTS,
        *("map", "gm_map", "Rprec", "bpref", "recip_rank"),
        *(f"iprec_at_recall_{tenths / 10:.2f}" for tenths in range(11)),
        *(f"P_{cutoff}" for cutoff in _CUTOFFS),
    ),
    "set": (*_COUNTS, "set_P", "set_recall", "set_relative_P", "set_map", "set_F"),
}
REFUSED = {  # what other programs have under this name, and what to write instead
    **dict.fromkeys(("hits", "Hits"), "ranx counts hits; write Success@k for whether there is one, or P@k"),
    **dict.fromkeys(("auc", "AUC", "gauc", "GAUC"), "areas under curves are not computed; write AP or nDCG@k"),
    **dict.fromkeys(("coverage", "ItemCoverage", "diversity", "novelty", "ILD"), "it needs no references"),
}
_AT = re.compile(r"\s*(ndcg|map|mrr|recall|precision|hit_rate|accuracy)_at_([0-9]+)\s*")  # MTEB
_TREC_EVAL = re.compile(rf"\s*({'|'.join(CUT)})[_.]([0-9]+(?:\.[0-9]+)?)\s*")


def translated(text: str) -> str:
    """Write a name of trec_eval or MTEB with its cutoff, such as ``ndcg_cut_10``, as measure text; others stay.

    >>> translated("ndcg_cut_10"), translated("iprec_at_recall_0.10"), translated("ndcg_at_10"), translated("RDQ@5")
    ('nDCG@10', 'IPrec@0.10', 'ndcg@10', 'RDQ@5')
    """
    if found := _TREC_EVAL.fullmatch(text):
        return f"{CUT[found[1]]}@{found[2]}"
    if found := _AT.fullmatch(text):
        return f"{found[1]}@{found[2]}"
    return re.sub(r"^\s*r-precision\b", "Rprec", text)


_MEASURE = re.compile(r"\s*(?P<name>\w+)\s*(?:\((?P<parameters>.*)\))?\s*(?:@\s*(?P<at>[^@\s]+))?\s*", re.DOTALL)
_PARAMETER = re.compile(r"\s*(?P<name>\w+)\s*=\s*(?P<value>\[[^\]]*\]|\{[^}]*\}|[^,\[\]{}]+?)\s*(?:,|$)")

PAPER = (
    "RDQ",
    "RDQ(alpha=4)",
    "RDQ(penalty=m1)",
    "RBP(p=0.9)",
    "RBP(p=0.8)",
    "RBP(p=0.5)",
    "nDCG(gains=inverse,dcg=exp-log2)",
    "nDCG(gains=binary)",
    "nDCG(gains=linear,dcg=exp-log2)",
    "Compat(p=0.95)",
    "Compat(p=0.9)",
    "Compat(p=0.8)",
    "AP",
)


def parse(text: Any) -> Measure:
    """Parse a measure; names of trec_eval and measures of ir_measures are understood too.

    Parameters
    ----------
    text : str or Measure
        Such as ``"RDQ(alpha=4)@5"``. A Measure is returned as it is.

    Returns
    -------
    Measure
        ``str`` writes it as text again.

    Examples
    --------
    >>> parse("RDQ(lam=0.2, alpha=4)@5")
    RDQ(cutoff=5, judged_only=False, penalty='m2', alpha=4.0, lam=0.2, weights='vertical', tail=None)
    >>> str(parse("RDQ(lam=0.2, alpha=4)@5")), str(parse("ndcg_cut_10"))
    ('RDQ(alpha=4)@5', 'nDCG@10')
    """
    if isinstance(text, Measure):
        return text
    text = _text(text)
    if not isinstance(text, str):
        raise MeasureError("not-a-measure", value=text)
    if text not in PARSED:
        PARSED[text] = _parsed(text)
    return PARSED[text]


def _parsed(text: str) -> Measure:
    found = _MEASURE.fullmatch(translated(text))
    if not found:
        raise MeasureError("not-a-measure", value=text)
    name, fixed = found["name"], {}
    if name in ALIASES:
        alias = _MEASURE.fullmatch(ALIASES[name])
        assert alias is not None
        name = alias["name"]
        fixed = _read_parameters(REGISTRY[name], alias["parameters"] or "")
    kind = _kind(name, found["at"])
    parameters = {**fixed, **_read_parameters(kind, found["parameters"] or "")}
    if found["at"] is not None:
        if kind.at is None:
            raise MeasureError("no-cutoff", measure=name, cutoff=found["at"])
        if kind.at in parameters:
            raise MeasureError("given-twice", measure=name, name=kind.at)
        parameters[kind.at] = _read_at(kind, found["at"])
    return kind(**parameters)


def parse_all(texts: Any) -> list[Measure]:
    """Parse measures, each once.

    ``nDCG@10,AP`` are two, ``paper@5`` the paper's 13 configurations, ``official`` and ``set`` those of trec_eval.
    """
    if isinstance(texts, str) and texts in PARSED:
        return [PARSED[texts]]
    measures = dict.fromkeys(map(parse, each_text(texts)))
    if not measures:
        raise MeasureError("no-measure")
    return list(measures)


def each_text(texts: Any) -> Iterator[Any]:
    """Yield each measure that was asked for, as it was given: lists are split, and sets replaced by what they hold."""
    alone = isinstance(_text(texts), str | Measure)
    if not alone and not is_list(texts):
        raise MeasureError("not-a-measure", value=texts)
    for entry in [texts] if alone else list(texts):
        for part in _split(entry) if isinstance(entry, str) else [entry]:
            paper = re.fullmatch(r"\s*paper\s*(@.*)?", part) if isinstance(part, str) else None
            if paper:
                yield from (f"{name}{paper[1] or ''}" for name in PAPER)
            elif isinstance(part, str) and part.strip() in SETS:
                yield from SETS[part.strip()]
            else:
                yield part


def write(measure: Measure) -> str:
    """Write a measure as text: parameters that differ from their default, and p, which is always written."""
    given = [
        f"{entry.name}={_write_value(getattr(measure, entry.name))}"
        for entry in measure.parameters()
        if entry.metadata.get("written") or getattr(measure, entry.name) != entry.default
    ]
    parameters = f"({','.join(given)})" if given else ""
    at = None if measure.at is None else getattr(measure, measure.at)
    return f"{measure.name}{parameters}{'' if at is None else f'@{_write_value(at)}'}"


def known_measure(text: str) -> Measure | None:
    """Find the measure of a label; scores from elsewhere may have others."""
    try:
        return parse(text)
    except MeasureError:
        return None


def info_of(measure: object) -> MeasureInfo:
    """Return what scores carry of a measure; of a label from elsewhere nothing is known."""
    if isinstance(measure, str):
        known = known_measure(measure)
        return MeasureInfo(measure) if known is None else replace(known.info, label=measure)
    return getattr(measure, "info", None) or MeasureInfo(str(measure))


def _split(text: str) -> list[str]:
    """Split at the commas outside of parentheses and brackets."""
    depth, begin, parts = 0, 0, []
    for i, sign in enumerate(text):
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and depth <= 0:
            parts.append(text[begin:i])
            begin = i + 1
    return [*parts, text[begin:]]


def _text(value: Any) -> Any:
    """Return the text of a measure object of ir_measures, which writes itself as we read it; else the value."""
    return str(value) if hasattr(value, "SUPPORTED_PARAMS") else value


def _kind(name: str, at: str | None) -> type[Measure]:
    if name not in REGISTRY:
        load_installed()
    if name == "paper" or name in SETS:
        raise MeasureError("several-measures", name=name, count=len(SETS.get(name, PAPER)))
    if name in REGISTRY:
        return REGISTRY[name]
    if instead := REFUSED.get(name):
        raise MeasureError("not-computed", name=name, instead=instead)
    raise MeasureError("unknown-measure", name=name, near=_near(name, at))


def _near(name: str, at: str | None) -> str | None:
    """Return what was meant, with its cutoff: ``p@10`` means P@10, and so may ``p10``."""
    letters = name.rstrip("0123456789")
    digits, letters = name[len(letters) :], letters.rstrip("_-")
    known = [*REGISTRY, *ALIASES]
    same = [one for one in known if one.lower() == letters.lower()]
    found = same[0] if same else nearest(letters, (one for one in known if _may_be(letters, one)))
    cutoff = at or digits
    return f"{found}@{cutoff}" if found and cutoff else found


def _may_be(name: str, known: str) -> bool:
    """Tell whether a name can be a slip for another: short ones are different measures if a letter differs."""
    one, other = name.lower(), known.lower()
    if min(len(one), len(other)) <= SHORT:
        return sorted(one) == sorted(other) or one.startswith(other + "_") or (len(one) > 2 and other.startswith(one))
    return one[0] == other[0]


def _read_parameters(kind: type[Measure], text: str) -> dict[str, Any]:
    known = [*(entry.name for entry in kind.parameters()), *([kind.at] if kind.at else [])]
    values: dict[str, Any] = {}
    end = 0
    while end < len(text.rstrip()):
        found = _PARAMETER.match(text, end)
        if not found:
            raise MeasureError("not-parameters", measure=kind.name, value=text[end:].strip())
        name = found["name"]
        if name not in known:
            near = nearest(name, known)
            raise MeasureError(
                "not-a-choice", measure=kind.name, name="parameter", value=name, near=near, known=known or ["none"]
            )
        if name in values:
            raise MeasureError("given-twice", measure=kind.name, name=name)
        value = found["value"]
        values[name] = _read_at(kind, value) if name == kind.at else _read_value(kind.name, name, value)
        end = found.end()
    return values


def _read_value(measure: str, name: str, text: str) -> Any:
    if text in ("True", "False"):
        return text == "True"
    try:
        if text.startswith("["):
            return tuple(float(part) for part in text[1:-1].split(",") if part.strip())
        if text.startswith("{"):
            pairs = [part.split(":") for part in text[1:-1].split(",") if part.strip()]
            gains = {float(grade): float(gain) for grade, gain in pairs}
            if len(gains) < len(pairs):
                raise ValueError
            return gains
    except ValueError:
        expected = "a list of numbers" if text.startswith("[") else "one gain for each grade, such as {1:1,2:10}"
        raise bad_parameter(name, text, expected, measure=measure) from None
    try:
        return float(text)
    except ValueError:
        return text.strip("'\"")


def _read_at(kind: type[Measure], text: str) -> Any:
    """Parse what follows the @: a cutoff, or what the measure has instead."""
    if kind.at != "cutoff":
        return _read_value(kind.name, str(kind.at), text)
    if not re.fullmatch(r"[0-9]{1,12}", text):
        raise bad_parameter("cutoff", text, COUNT.text, measure=kind.name)
    return int(text)


def _write_value(value: Any) -> str:
    if isinstance(value, tuple) and isinstance(value[0], tuple):
        return f"{{{','.join(f'{_write_value(grade)}:{_write_value(gain)}' for grade, gain in value)}}}"
    if isinstance(value, tuple):
        return f"[{','.join(map(_write_value, value))}]"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return str(value)
