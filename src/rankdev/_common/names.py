"""Names of columns: what other tools call ours, and what a table is by the names of its columns."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

from rankdev._common.lazy import pl
from rankdev.errors import DataError, UsageError, nearest

OURS = ("query", "item", "score", "rank", "grade", "tiers", "items", "system", "measure", "value", "segment", "cluster")
NONE: Mapping[str, str] = MappingProxyType({})

# what ir_measures, PyTerrier, BEIR and ranx call our columns; where a table has several, the first wins
KNOWN_NAMES = {
    # PyTerrier's query is a text, query_id may be internal; users are the queries of recommenders
    "query": ("qid", "query", "query_id", "query-id", "q_id", "query_text", "user_id", "userid", "user"),
    # PyTerrier's docid is internal
    "item": ("item", "docno", "doc_id", "docid", "corpus-id", "item_id", "itemid", "movieid"),
    "grade": ("grade", "relevance", "label", "rating"),
    "nonrelevant": ("nonrelevant", "worthless"),  # the name in files of older versions
    "nonrelevant_grades": ("nonrelevant_grades", "worthless_grades"),
}
ALIASES = {alias: name for name, aliases in KNOWN_NAMES.items() for alias in aliases if alias != name}
SYSTEMS = (
    "system",
    "tag",
    "run_id",
    "run",
    "name",
    "snapshot_name",
)  # columns that name the system of a row; the first that varies
_NAMES = {*ALIASES, *KNOWN_NAMES, *SYSTEMS, *OURS, "grades", "doc_position", "position"}
POSITIONS = ("position", "doc_position")  # of a run; elsewhere a position may be that of a click


def folded_name(name: str) -> str:
    """Return the name of a column without capitals and blanks, and without RecBole's type, where it is then known.

    >>> folded_name("Doc ID"), folded_name("item_id:token"), folded_name("Colour")
    ('doc_id', 'item_id', 'Colour')
    """
    plain = name.strip().lower().replace(" ", "_")
    plain = plain.partition(":")[0] if plain.endswith((":token", ":float")) else plain
    return plain if plain in _NAMES else name


def check_named(columns: object) -> None:
    """Check names of columns, by ours."""
    if not isinstance(columns, Mapping) or not all(isinstance(word, str) for pair in columns.items() for word in pair):
        raise UsageError("not-columns", value=columns)
    for name in columns:
        if name not in OURS:
            raise UsageError("unknown-column", name=name, near=nearest(name, OURS), known=OURS)


def our_name(column: str, columns: Mapping[str, str] = NONE) -> str:
    """Return what rankdev calls a column; ``columns`` are names that were chosen, by ours."""
    chosen = {theirs: ours for ours, theirs in columns.items()}
    known = folded_name(column)
    return chosen.get(column, ALIASES.get(known, known))


def is_interactions(columns: Collection[str], chosen: Mapping[str, str] = NONE) -> bool:
    """Recognise users and items that they chose, without a rank, a grade or a score; other pairs could be in order."""
    names = {our_name(name, chosen) for name in columns}
    users = {folded_name(name) for name in columns} & {"user", "user_id", "userid"}
    return bool(users) and "item" in names and not names & {"rank", "grade", "score", "tiers", "items", *POSITIONS}


def ranked_names(frame: pl.DataFrame) -> pl.DataFrame:
    """Take positions for ranks where there is nothing else that orders a run."""
    if {"rank", "score"} & {*frame.columns}:
        return frame
    found = next((name for name in POSITIONS if name in frame.columns), None)
    return frame if found is None else frame.rename({found: "rank"})


def known_names(frame: pl.DataFrame, columns: Mapping[str, str] = NONE) -> pl.DataFrame:
    """Rename columns to rankdev's names: those that were chosen, and those of ir_measures, PyTerrier or BEIR."""
    chosen = {theirs: ours for ours, theirs in columns.items() if theirs in frame.columns}
    if chosen:
        frame = frame.drop([ours for ours in chosen.values() if ours not in chosen], strict=False).rename(chosen)
    plain: dict[str, str] = {}
    for name in frame.columns:
        known = folded_name(name)
        if known != name and known not in frame.columns:
            if known in plain.values():
                raise DataError("column-twice", name=known)
            plain[name] = known
    frame = frame.rename(plain)
    if is_beir(frame.columns):
        frame = frame.rename({"score": "grade"})
    for name, aliases in KNOWN_NAMES.items():
        if name in chosen.values():
            continue
        found = next((alias for alias in aliases if alias in frame.columns), name)
        if found != name:
            frame = frame.drop(name, strict=False).rename({found: name})
    return frame


def unrated(frame: pl.DataFrame, columns: Mapping[str, str] = NONE) -> pl.Series | None:
    """Mark rows whose rating is missing, as exports of judging tools have them; None where there are none."""
    name = next((name for name in frame.columns if folded_name(name) == "rating"), None)
    if name is None or our_name(name, columns) != "grade" or frame[name].dtype.is_nested():
        return None
    text = frame[name].cast(pl.String)
    missing = text.is_null() | text.is_in(["", "NaN"])
    return missing if missing.any() and not missing.all() else None


def is_beir(columns: Collection[str]) -> bool:
    """Recognise the qrels of BEIR, whose grade is called score: taken for a run, they would be scored silently."""
    return {"query-id", "corpus-id", "score"} <= {*columns} and "grade" not in columns
